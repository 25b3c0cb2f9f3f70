#include "http_common/sse_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <utility>

namespace keel::inline KEEL_ABI::http {

namespace {

constexpr std::size_t longest_id = 8 * 1024;  // longer ids cannot be sent in a header
constexpr std::size_t longest_name = 256;     // of an event; longer names are unknown
constexpr std::size_t kept_beginning = 1024;
constexpr std::size_t data_field = 16;  // bytes of a line besides its data, with some margin
constexpr std::size_t kept_event_memory = 64 * 1024;

void clear(std::string& text) {
    text.clear();
    if (text.capacity() > kept_event_memory) std::string().swap(text);
}

/// Finds the line ends of a text one after the other. Remembers the next CR and the next LF: searching for both from the
/// start of every line would take quadratic time if only one of them is used.
class line_ends {
public:
    explicit line_ends(std::string_view text) : text_(text), cr_(look('\r', 0)), lf_(look('\n', 0)) {}

    /// The first line end at or after `from`, or the size of the text.
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

void sse_reader::feed(std::string_view bytes, const sink& out, const large_sink& too_large) {
    line_ends ends(bytes);
    std::size_t at = 0;
    while (at != bytes.size()) {
        if (std::exchange(skip_lf_, false) && bytes[at] == '\n') {
            ++at;
            continue;
        }
        const std::size_t end = ends.next(at);
        const bool whole = end != bytes.size();
        take_part(bytes.substr(at, end - at), whole, out, too_large);
        if (whole) skip_lf_ = bytes[end] == '\r';
        at = whole ? end + 1 : end;
    }
}

/// Handles a line or a part of one.
void sse_reader::take_part(std::string_view part, bool whole, const sink& out, const large_sink& too_large) {
    const std::size_t longest_line = limits_.max_event + data_field;
    if (!skip_line_ && part.size() > longest_line - line_.size()) {
        skip_line_ = true;
        // Reports the beginning of the data. Its length does not depend on how the input was split.
        const std::size_t known = std::min(longest_line, kept_beginning);
        line_.append(part.substr(0, known));
        take_line(std::string_view(line_).substr(0, known), out, too_large);
        clear(line_);
    }
    if (skip_line_) {
        skip_line_ = !whole;
    } else if (!whole) {
        line_.append(part);
    } else if (line_.empty()) {
        take_line(part, out, too_large);
    } else {
        line_.append(part);
        take_line(line_, out, too_large);
        clear(line_);
    }
}

void sse_reader::restart() {
    clear(line_);
    clear(data_);
    event_.clear();
    id_ = last_id_;
    first_line_ = true;
    skip_lf_ = skip_line_ = has_data_ = too_large_ = new_id_ = false;
}

void sse_reader::forget_position() {
    last_id_.clear();
    restart();
}

void sse_reader::take_line(std::string_view line, const sink& out, const large_sink& too_large) {
    if (first_line_) {
        first_line_ = false;
        if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
    }
    if (line.empty()) return dispatch(out);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return take_field(line, {}, too_large);
    std::string_view value = line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    take_field(line.substr(0, colon), value, too_large);  // comments are fields without a name
}

void sse_reader::take_field(std::string_view name, std::string_view value, const large_sink& too_large) {
    if (name == "data") {
        take_data(value, too_large);
    } else if (name == "event") {
        event_.assign(value.substr(0, longest_name));
    } else if (name == "id") {
        if (value.find('\0') != std::string_view::npos) return;
        // The position cannot be sent in a header.
        if (skip_line_ || value.size() > longest_id) id_.clear();
        else id_.assign(value);
        new_id_ = true;
    } else if (name == "retry") {
        std::int64_t wait = 0;
        const char* end = value.data() + value.size();
        const bool digits =
            !value.empty() && std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
        if (digits && !skip_line_ && std::from_chars(value.data(), end, wait).ec == std::errc{})
            retry_ = std::chrono::milliseconds(wait);
    }
}

void sse_reader::take_data(std::string_view value, const large_sink& too_large) {
    const bool first = !std::exchange(has_data_, true);
    if (too_large_) return;
    const bool fits = !skip_line_ && value.size() + (first ? 0 : 1) <= limits_.max_event - data_.size();
    if (!first) data_.push_back('\n');
    if (fits) {
        data_.append(value);
        return;
    }
    too_large_ = true;
    data_.resize(std::min(data_.size(), kept_beginning));
    data_.append(value.substr(0, kept_beginning - data_.size()));
    too_large(data_);
    clear(data_);
}

void sse_reader::dispatch(const sink& out) {
    if (std::exchange(new_id_, false)) last_id_ = id_;
    // An event with empty data is an event; MCP servers begin streams with one.
    if (has_data_ && !too_large_) {
        const std::string_view event = event_.empty() ? std::string_view("message") : event_;
        out({.id = last_id_, .event = event, .data = data_});
    }
    clear(data_);
    event_.clear();
    has_data_ = too_large_ = false;
}

}  // namespace keel::http
