#include "http/sse_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>

namespace keel::http {

namespace {

/// Finds the line ends of a piece one after the other. Where the next CR and the next LF are is remembered: looking for
/// both from the start of every line would take quadratic time when only one of them is used.
class line_ends {
public:
    explicit line_ends(std::string_view text) : text_(text), cr_(look('\r', 0)), lf_(look('\n', 0)) {}

    /// The first at or behind `from`, or the size of the text.
    std::size_t next(std::size_t from) {
        if (cr_ < from) cr_ = look('\r', from);
        if (lf_ < from) lf_ = look('\n', from);
        return std::min(cr_, lf_);
    }

private:
    std::size_t look(char c, std::size_t from) const { return std::min(text_.find(c, from), text_.size()); }

    std::string_view text_;
    std::size_t cr_;
    std::size_t lf_;
};

}  // namespace

sse_reader::sse_reader(const sse_limits& limits) : limits_(limits) {}

bool sse_reader::feed(std::string_view bytes, const sink& out) {
    line_ends ends(bytes);
    std::size_t at = 0;
    while (!failed_ && at != bytes.size()) {
        if (skip_lf_) {
            skip_lf_ = false;
            if (bytes[at] == '\n') {
                ++at;
                continue;
            }
        }
        const std::size_t end = ends.next(at);
        const std::string_view part = bytes.substr(at, end - at);
        if (part.size() > limits_.max_line - line_.size()) {
            failed_ = true;
        } else if (end == bytes.size()) {
            line_.append(part);
            at = end;
        } else {
            skip_lf_ = bytes[end] == '\r';
            at = end + 1;
            if (line_.empty()) {
                failed_ = !take_line(part, out);
            } else {
                line_.append(part);
                failed_ = !take_line(line_, out);
                line_.clear();
            }
        }
    }
    return !failed_;
}

void sse_reader::restart() {
    line_.clear();
    data_.clear();
    event_.clear();
    id_ = last_id_;
    first_line_ = true;
    skip_lf_ = has_data_ = failed_ = false;
}

bool sse_reader::take_line(std::string_view line, const sink& out) {
    if (first_line_) {
        first_line_ = false;
        if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
    }
    if (line.empty()) {
        dispatch(out);
        return true;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return take_field(line, {});
    std::string_view value = line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    return take_field(line.substr(0, colon), value);  // a comment is a field without a name
}

bool sse_reader::take_field(std::string_view name, std::string_view value) {
    if (name == "data") {
        const std::size_t more = value.size() + (has_data_ ? 1 : 0);
        if (more > limits_.max_event - data_.size()) return false;
        if (has_data_) data_.push_back('\n');
        data_.append(value);
        has_data_ = true;
    } else if (name == "event") {
        event_.assign(value);
    } else if (name == "id") {
        if (value.find('\0') == std::string_view::npos) id_.assign(value);
    } else if (name == "retry") {
        std::int64_t wait = 0;
        const char* end = value.data() + value.size();
        const bool digits =
            !value.empty() && std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
        if (digits && std::from_chars(value.data(), end, wait).ec == std::errc{})
            retry_ = std::chrono::milliseconds(wait);
    }
    return true;
}

void sse_reader::dispatch(const sink& out) {
    last_id_ = id_;
    // An event whose data is empty is an event: "data" alone is enough. MCP primes streams with such ones.
    if (has_data_) {
        const std::string_view event = event_.empty() ? std::string_view("message") : event_;
        out({.id = last_id_, .event = event, .data = data_});
    }
    data_.clear();
    if (data_.capacity() > 64 * 1024) std::string().swap(data_);
    event_.clear();
    has_data_ = false;
}

}  // namespace keel::http
