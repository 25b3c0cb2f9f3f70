#pragma once

// A message that is received in pieces.

#include "async/spare_buffers.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace keel::inline KEEL_ABI::async {

/// The received bytes, and behind them room into which the next piece can be read, so that it need not be copied.
class input_buffer {
public:
    input_buffer() = default;
    explicit input_buffer(spare_buffers* spares) noexcept : spares_(spares) {}

    std::string_view text() const noexcept { return {bytes_.data(), used_}; }
    std::span<char> writable() noexcept { return {bytes_.data(), used_}; }
    std::size_t size() const noexcept { return used_; }
    bool empty() const noexcept { return used_ == 0; }
    std::size_t capacity() const noexcept { return bytes_.capacity(); }

    /// Appends a piece, or accepts it if it was written to the start of room(). The capacity grows to at most `most` if that is enough.
    void append(std::string_view piece, std::size_t most = std::string::npos) {
        if (piece.data() != bytes_.data() + used_) {
            // The size of the string is kept, because a larger size must be initialized.
            make_room(piece.size(), most);
            if (!piece.empty()) std::memcpy(bytes_.data() + used_, piece.data(), piece.size());
        }
        used_ += piece.size();
    }

    /// At least `size` bytes behind the text.
    std::span<char> room(std::size_t size, std::size_t most = std::string::npos) {
        make_room(size, most);
        return {bytes_.data() + used_, bytes_.size() - used_};
    }

    /// Forgets the text. Keeps a buffer of up to `kept` bytes; a larger one becomes a spare buffer.
    void clear(std::size_t kept) {
        used_ = 0;
        if (bytes_.capacity() > kept) give_back(bytes_, spares_);
    }
    /// Forgets the text and frees the buffer. It does not become a spare buffer.
    void drop() noexcept {
        used_ = 0;
        std::string().swap(bytes_);
    }

private:
    void make_room(std::size_t size, std::size_t most) {
        const std::size_t needed = used_ + size;
        if (needed > bytes_.capacity()) {
            enlarge(bytes_, used_, std::max(needed, std::min(2 * bytes_.capacity(), most)), spares_);
        }
        if (needed > bytes_.size()) bytes_.resize(needed);
    }

    std::string bytes_;  // its size is the initialized part, which is at least used_
    std::size_t used_ = 0;
    spare_buffers* spares_ = nullptr;
};

}  // namespace keel::async
