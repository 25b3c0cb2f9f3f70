#include "http/response_splitter.hpp"

#include "http_common/tokens.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace keel::inline KEEL_ABI::http {

namespace {

constexpr std::size_t max_overhead = 16;  // our chunks have no extensions and no trailers

/// Reads a whole number; returns false if there is anything else.
template <class Number>
bool read_number(std::string_view text, Number& out) {
    auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), out);
    return wrong == std::errc() && end == text.data() + text.size();
}

}  // namespace

response_splitter::response_splitter(bool head_only)
    : chunks_({.max_body = std::numeric_limits<std::uint64_t>::max(),
               .max_overhead = max_overhead,
               .max_trailers = 0,
               .is_stream = true}),
      head_only_(head_only) {}

response_splitter::event response_splitter::next(std::string_view& bytes) {
    switch (state_) {
        case state::head: {
            const std::size_t before = head_.size();
            head_ += bytes;
            head_end_finder::event found = head_end_finder::event::more;
            do {
                found = finder_.next(head_);
            } while (found == head_end_finder::event::line);
            if (found == head_end_finder::event::bare_lf) return event::bad;
            if (found == head_end_finder::event::more) {
                bytes = {};
                return event::more;
            }
            bytes.remove_prefix(finder_.scanned() - before);
            head_.resize(finder_.scanned());
            return read_head() ? event::head : event::bad;
        }
        case state::sized: {
            if (left_ == 0) {
                state_ = state::ended;
                return event::end;
            }
            piece_ = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size())));
            if (piece_.empty()) return event::more;
            left_ -= piece_.size();
            bytes.remove_prefix(piece_.size());
            return event::body;
        }
        case state::chunked:
            switch (chunks_.next(bytes)) {
                case chunk_reader::event::more: return event::more;
                case chunk_reader::event::data: piece_ = chunks_.piece(); return event::body;
                case chunk_reader::event::end: state_ = state::ended; return event::end;
                default: return event::bad;
            }
        case state::ended: break;
    }
    bytes = {};
    return event::more;
}

bool response_splitter::read_head() {
    const std::string_view status_line = std::string_view(head_).substr(0, head_.find("\r\n"));
    constexpr std::string_view version = "HTTP/1.1 ";
    if (!status_line.starts_with(version) || status_line.size() < version.size() + 3) return false;
    if (!read_number(status_line.substr(version.size(), 3), status_)) return false;
    const char* at = head_.data() + status_line.size() + 2;
    const char* end = head_.data() + head_.size() - 2;  // without the empty line
    state_ = state::sized;
    while (at < end) {
        header h;
        if (parse_header_line(at, end, h) != line_error::none) return false;
        if (same_ignoring_case(h.name, "connection")) continue;
        if (same_ignoring_case(h.name, "transfer-encoding")) {
            state_ = state::chunked;
            chunks_.start();
            continue;
        }
        if (same_ignoring_case(h.name, "content-length") && !read_number(h.value, left_)) return false;
        headers_.emplace_back(h.name, h.value);
    }
    if (head_only_) {
        state_ = state::sized;
        left_ = 0;
    }
    return true;
}

}  // namespace keel::http
