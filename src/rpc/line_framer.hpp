#pragma once

// One message per line: splits a stream of bytes, received in pieces of any size, into lines.

#include "async/input_buffer.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::rpc {

/// Lines that lie whole within a piece are passed on without a copy, and the pieces of a large line can be read where they are kept. A
/// line longer than the limit is skipped in constant memory. Empty lines, white space around a line and a byte order mark at the start are
/// ignored (E2).
class line_framer {
public:
    explicit line_framer(std::size_t max_line, async::spare_buffers* spares = nullptr) noexcept
        : max_line_(max_line), spares_(spares), partial_(spares) {}

    /// Calls `line(std::string_view)` for each complete line and `too_large(std::string_view beginning)` for each that
    /// is skipped. The views are valid during the call. Drops the rest of `bytes` when `line` returns false.
    template <class Line, class TooLarge>
    void feed(std::string_view bytes, Line line, TooLarge too_large) {
        std::string behind;  // what follows a line that was read into room(): the room may be released
        while (!bytes.empty()) {
            const void* found = std::memchr(bytes.data(), '\n', bytes.size());
            if (!found) {
                keep(bytes);
                if (skipping_ && !told_) {
                    told_ = true;
                    too_large(partial_.text());
                    partial_.drop();
                }
                return;
            }
            std::size_t length = static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data());
            std::string_view piece = bytes.substr(0, length);
            bytes.remove_prefix(length + 1);
            const bool in_room = is_in_room(piece);
            if (in_room && !bytes.empty()) {
                behind.assign(bytes);
                bytes = behind;
            }
            if (skipping_) {
                skipping_ = told_ = false;
                continue;
            }
            if (partial_.size() + piece.size() > max_line_) {
                keep(piece);
                too_large(partial_.text());
                partial_.drop();
                skipping_ = false;
                continue;
            }
            bool go_on = true;
            last_was_large_ = partial_.size() + piece.size() >= least_for_room;
            if (partial_.empty() && !in_room) {
                if (std::string_view clean = strip(piece); !clean.empty()) go_on = line(clean);
            } else {
                partial_.append(piece, max_line_);
                if (std::string_view clean = strip(partial_.text()); !clean.empty()) go_on = line(clean);
                partial_.clear(kept_capacity);
            }
            if (!go_on) return;
        }
    }

    /// Where to read the next piece of a large line; empty if there is no such line. After a large line, the next one is expected to be
    /// large, too.
    std::span<char> room() {
        const bool expected = last_was_large_ && partial_.empty() && spares_ && !spares_->empty();
        if (skipping_ || (partial_.size() < least_for_room && !expected)) return {};
        // A message of the size of the last one must not need a larger buffer than that.
        const std::size_t unused = partial_.capacity() - partial_.size();
        const std::size_t wanted =
            std::min({unused >= least_for_room ? unused : read_size, read_size, max_line_ - partial_.size() + 1});
        std::span<char> all = partial_.room(wanted, max_line_);
        return all.first(std::min(all.size(), wanted));
    }

    /// Inside `line`: the line is in memory of this object, and may be overwritten. False for a line that lies in one piece.
    bool line_is_kept() const noexcept { return !partial_.empty(); }
    /// Inside `line`: frees the memory of the line, which is not needed any more, unless it is small.
    void release_line() { partial_.clear(kept_capacity); }

    /// True if the bytes so far end within a line.
    bool incomplete() const noexcept { return skipping_ || !partial_.empty(); }
    /// The text after the last newline; empty while a line is being skipped.
    std::string_view remainder() noexcept { return skipping_ ? std::string_view() : strip(partial_.text()); }

private:
    static constexpr std::size_t kept_capacity = 64 * 1024;
    static constexpr std::size_t least_for_room = 32 * 1024;
    static constexpr std::size_t read_size = 256 * 1024;

    bool is_in_room(std::string_view piece) const noexcept {
        return piece.data() == partial_.text().data() + partial_.size();
    }

    void keep(std::string_view piece) {
        if (skipping_) return;
        if (partial_.size() + piece.size() > max_line_) {
            skipping_ = true;
            piece = piece.substr(0, max_line_ - partial_.size());
        }
        partial_.append(piece, max_line_);
    }

    std::string_view strip(std::string_view text) noexcept {
        if (at_start_) {
            at_start_ = false;
            if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
        }
        auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
        while (!text.empty() && blank(text.back())) text.remove_suffix(1);
        while (!text.empty() && blank(text.front())) text.remove_prefix(1);
        return text;
    }

    std::size_t max_line_;
    async::spare_buffers* const spares_;
    async::input_buffer partial_;
    bool skipping_ = false;
    bool told_ = false;
    bool at_start_ = true;
    bool last_was_large_ = false;
};

}  // namespace keel::rpc
