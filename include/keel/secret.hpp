#pragma once

// Secrets: tokens, passwords, private keys.

#include <keel/version.hpp>

#include <cstddef>
#include <memory>
#include <string_view>

namespace keel::inline KEEL_ABI {

/// A secret text. It cannot be printed, converted or compared by mistake, and its memory is overwritten when it is destroyed.
///
///     keel::secret token(text);
///     send(token.reveal());            // the only way to read it
class KEEL_API secret {
public:
    secret() noexcept = default;
    /// Copies `text`. The caller's own copy is not overwritten.
    explicit secret(std::string_view text);
    secret(const secret& other);
    secret(secret&& other) noexcept;
    secret& operator=(const secret& other);
    secret& operator=(secret&& other) noexcept;
    ~secret();

    bool empty() const noexcept { return size_ == 0; }
    std::size_t size() const noexcept { return size_; }
    /// The text itself, valid while this object lives. Do not store, log or print it.
    std::string_view reveal() const noexcept { return {text_.get(), size_}; }

    /// True if both texts are equal. The time depends on the lengths only, not on the position of the first difference.
    static bool equal(const secret& a, const secret& b) noexcept;

    // Comparing secrets with == takes a time that tells how many bytes are right. Use equal().
    friend bool operator==(const secret&, const secret&) = delete;
    friend bool operator==(const secret&, std::string_view) = delete;

private:
    void wipe() noexcept;

    std::unique_ptr<char[]> text_;  // never in the object itself: a moved small string would leave its bytes behind
    std::size_t size_ = 0;
};

}  // namespace keel
