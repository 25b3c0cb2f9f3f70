#pragma once

// Regular expressions of ECMA-262, matched by RE2 in linear time.

#include <keel/version.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace keel::inline KEEL_ABI::validation {

struct translated_pattern {
    enum class outcome { good, invalid, unsupported };
    outcome what = outcome::good;
    std::string text;  // for RE2 if good; otherwise the reason: "pattern uses a backreference, which is not supported"
};

/// Translates an expression to RE2 syntax. RE2 may still reject a `good` one.
translated_pattern translate_pattern(std::string_view ecma);

/// A compiled pattern. Matching is thread-safe.
class pattern {
public:
    /// Returns null, and the reason in `why`, if the pattern is invalid or unsupported.
    static std::unique_ptr<const pattern> make(std::string_view ecma, std::string& why);
    ~pattern();

    /// Searches the text; the expression may contain anchors.
    bool found_in(std::string_view text) const;
    /// The worst-case cost of a search per byte.
    std::size_t size() const noexcept { return size_; }
    const std::string& source() const noexcept { return source_; }

private:
    pattern(std::unique_ptr<re2::RE2> machine, std::string_view source);

    std::unique_ptr<re2::RE2> machine_;
    std::string source_;
    std::size_t size_;
};

/// True if ECMA-262 allows it, even if RE2 does not support it.
bool is_regular_expression(std::string_view text);

}  // namespace keel::validation
