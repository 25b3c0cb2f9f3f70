#pragma once

// One message per line: splits a stream of bytes, received in pieces of any size, into lines.

#include <keel/version.hpp>

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace keel::inline KEEL_ABI::rpc {

/// Lines that lie whole within a piece are passed on without a copy. A line longer than the limit is skipped in constant memory. Empty
/// lines, white space around a line and a byte order mark at the start are ignored (E2).
class line_framer {
public:
    explicit line_framer(std::size_t max_line) noexcept : max_line_(max_line) {}

    /// Calls `line(std::string_view)` for each complete line and `too_large(std::string_view beginning)` for each that
    /// is skipped. The views are valid during the call. Drops the rest of `bytes` when `line` returns false.
    template <class Line, class TooLarge>
    void feed(std::string_view bytes, Line line, TooLarge too_large) {
        while (!bytes.empty()) {
            const void* found = std::memchr(bytes.data(), '\n', bytes.size());
            if (!found) {
                keep(bytes);
                if (skipping_ && !told_) {
                    told_ = true;
                    too_large(std::string_view(partial_));
                    std::string().swap(partial_);
                }
                return;
            }
            std::size_t length = static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data());
            std::string_view piece = bytes.substr(0, length);
            bytes.remove_prefix(length + 1);
            if (skipping_) {
                skipping_ = told_ = false;
                continue;
            }
            if (partial_.size() + piece.size() > max_line_) {
                keep(piece);
                too_large(std::string_view(partial_));
                std::string().swap(partial_);
                skipping_ = false;
                continue;
            }
            bool go_on = true;
            if (partial_.empty()) {
                if (std::string_view clean = strip(piece); !clean.empty()) go_on = line(clean);
            } else {
                partial_ += piece;
                std::string whole = std::exchange(partial_, {});
                if (std::string_view clean = strip(whole); !clean.empty()) go_on = line(clean);
                if (whole.capacity() <= kept_capacity && partial_.empty()) {
                    whole.clear();
                    partial_ = std::move(whole);
                }
            }
            if (!go_on) return;
        }
    }

    /// True if the bytes so far end within a line.
    bool incomplete() const noexcept { return skipping_ || !partial_.empty(); }
    /// The text after the last newline; empty while a line is being skipped.
    std::string_view remainder() noexcept { return skipping_ ? std::string_view() : strip(partial_); }

private:
    static constexpr std::size_t kept_capacity = 256 * 1024;

    void keep(std::string_view piece) {
        if (skipping_) return;
        if (partial_.size() + piece.size() > max_line_) {
            skipping_ = true;
            piece = piece.substr(0, max_line_ - partial_.size());
        }
        partial_ += piece;
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
    std::string partial_;
    bool skipping_ = false;
    bool told_ = false;
    bool at_start_ = true;
};

}  // namespace keel::rpc
