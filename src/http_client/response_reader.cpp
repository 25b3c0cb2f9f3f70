#include "http_client/response_reader.hpp"

#include "http_common/tokens.hpp"
#include "protocol/url_parts.hpp"

#include <algorithm>
#include <charconv>

namespace keel::inline KEEL_ABI::http_client {

namespace {

constexpr std::string_view version = "HTTP/1.";
constexpr std::size_t max_headers = 512;
constexpr std::size_t kept_memory = 16 * 1024;
constexpr std::uint64_t max_chunk = (std::uint64_t(1) << 60) - 1;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

}  // namespace

response_reader::response_reader(std::size_t max_head)
    : max_head_(max_head),
      chunks_({.max_body = max_chunk, .max_overhead = max_head, .max_trailers = max_headers, .is_stream = true}) {}

void response_reader::start(request_kind kind) {
    clear_headers();
    if (kept_.capacity() > kept_memory) std::string().swap(kept_);
    kept_.clear();
    piece_ = {};
    why_ = "";
    spent_ = 0;
    end_finder_ = {};
    remaining_ = 0;
    chunks_.start();
    status_ = 0;
    state_ = state::head;
    kind_ = kind;
    begun_ = false;
}

// Keeps the strings for the next response, whose headers usually have the same order and size.
void response_reader::clear_headers() {
    constexpr std::size_t kept = 1024;  // bytes of a string that is kept for reuse
    for (std::size_t i = 0; i != headers_.size(); ++i) {
        for (std::string* each : {&headers_[i].first, &headers_[i].second}) {
            if (each->capacity() > kept) std::string().swap(*each);
        }
        if (i < spare_.size()) spare_[i].swap(headers_[i]);
        else spare_.push_back(std::move(headers_[i]));
    }
    headers_.clear();
    idle_time_.reset();
    length_ = 0;
    keep_alive_ = true;
    says_close_ = says_keep_alive_ = has_length_ = has_coding_ = false;
}

bool response_reader::refuse(const char* why) noexcept {
    state_ = state::refused;
    why_ = why;
    return false;
}

response_reader::event response_reader::next(std::string_view& bytes) {
    piece_ = {};
    if (!bytes.empty()) begun_ = true;
    switch (state_) {
        case state::head: return take_head(bytes);
        case state::sized: return take_sized(bytes);
        case state::chunked: return take_chunked(bytes);
        case state::until_close:
            if (bytes.empty()) return event::more;
            piece_ = std::exchange(bytes, {});
            return event::body;
        case state::complete: return event::end;
        case state::refused: bytes = {}; return event::bad;
    }
    return event::bad;
}

response_reader::event response_reader::end_of_input() noexcept {
    if (state_ == state::until_close) state_ = state::complete;
    return state_ == state::complete ? event::end : event::more;
}

std::optional<std::uint64_t> response_reader::left() const noexcept {
    if (state_ == state::complete) return 0;
    if (state_ == state::sized) return remaining_;
    return std::nullopt;
}

// ---- the head ----

response_reader::event response_reader::take_head(std::string_view& bytes) {
    while (!bytes.empty()) {
        std::size_t end = 0;
        const std::size_t before = kept_.size();
        if (before == 0) {
            end = find_head_end(bytes);
            if (end != 0) parse_head(bytes.substr(0, end));
            else if (state_ == state::head) kept_.assign(bytes);
        } else {
            kept_.append(bytes.substr(0, max_head_ - before));  // a head that reached the limit was rejected
            end = find_head_end(kept_);
            if (end != 0) parse_head(std::string_view(kept_).substr(0, end));
        }
        if (state_ == state::refused) {
            bytes = {};
            return event::bad;
        }
        if (end == 0) {
            bytes = {};
            return event::more;
        }
        bytes.remove_prefix(end - before);
        kept_.clear();
        if (status_ >= 200) return event::head;
        spent_ += end;  // an interim response: the final one follows
        end_finder_ = {};
        clear_headers();
    }
    return event::more;
}

/// The length of the head, or 0 if it is incomplete. Continues where the last call stopped.
std::size_t response_reader::find_head_end(std::string_view text) {
    const std::size_t bound = max_head_ - std::min(spent_, max_head_);
    if (bound < version.size()) {
        refuse("the head of the response is too large");
        return 0;
    }
    // Checked immediately: a server of another protocol may never send a line end.
    const std::size_t known = std::min(text.size(), version.size());
    if (text.substr(0, known) != version.substr(0, known)) {
        refuse("not an HTTP/1 response");
        return 0;
    }
    using event = http::head_end_finder::event;
    const std::string_view available = text.substr(0, bound);
    event e = end_finder_.next(available);
    while (e == event::line) e = end_finder_.next(available);
    if (e == event::end) return end_finder_.scanned();
    if (e == event::bare_lf) refuse("a header line ends with LF instead of CRLF");
    else if (available.size() == bound) refuse("the head of the response is too large");
    return 0;
}

bool response_reader::parse_head(std::string_view text) {
    const std::size_t line = text.find('\r');
    if (text[line + 1] != '\n') return refuse("a header line contains a bare CR");
    if (!parse_status_line(text.substr(0, line))) return false;
    const char* at = text.data() + line + 2;
    const char* end = text.data() + text.size();
    while (end - at > 2) {  // until the empty line
        if (headers_.size() == max_headers) return refuse("too many headers");
        if (*at == ' ' || *at == '\t') return refuse("folded header lines are not supported");
        http::header h;
        switch (http::parse_header_line(at, end, h)) {
            case http::line_error::none: break;
            case http::line_error::name: return refuse("invalid header line");
            case http::line_error::control: return refuse("a control character in a header");
            case http::line_error::bare_cr: return refuse("a header line contains a bare CR");
        }
        if (!add_header(h.name, h.value)) return false;
    }
    return decide_body();
}

bool response_reader::parse_status_line(std::string_view line) {
    // "HTTP/1.1 200 OK"; the reason phrase may be missing, and often the space before it, too.
    line.remove_prefix(version.size());
    if (line.size() < 5 || !is_digit(line[0]) || line[1] != ' ') return refuse("invalid status line");
    if (!is_digit(line[2]) || !is_digit(line[3]) || !is_digit(line[4])) return refuse("invalid status line");
    if (line.size() > 5 && line[5] != ' ') return refuse("invalid status line");
    if (!http::is_field_text(line.substr(5))) return refuse("a control character in the status line");
    minor_ = line[0] == '0' ? 0 : 1;
    status_ = (line[2] - '0') * 100 + (line[3] - '0') * 10 + (line[4] - '0');
    if (status_ < 100) return refuse("invalid status line");
    if (status_ == 101) return refuse("unexpected status 101 (Switching Protocols)");
    return true;
}

bool response_reader::add_header(std::string_view sent_name, std::string_view value) {
    const std::size_t index = headers_.size();
    headers_.emplace_back();
    auto& [name, kept_value] = headers_.back();
    if (index < spare_.size()) {
        name.swap(spare_[index].first);
        kept_value.swap(spare_[index].second);
    }
    name.assign(sent_name);
    for (char& c : name) c = http::lower(c);
    kept_value.assign(value);
    return note_header(name, value);
}

bool response_reader::note_header(std::string_view name, std::string_view value) {
    switch (name.size()) {  // a switch by length is faster than comparing each name
        case 10:
            if (name == "connection") {
                http::for_each_item(value, [this](std::string_view item) {
                    if (http::same_ignoring_case(item, "close")) says_close_ = true;
                    if (http::same_ignoring_case(item, "keep-alive")) says_keep_alive_ = true;
                });
            } else if (name == "keep-alive") {
                http::for_each_item(value, [this](std::string_view item) {
                    const std::size_t equals = item.find('=');
                    if (equals == item.npos || !http::same_ignoring_case(http::trim(item.substr(0, equals)), "timeout"))
                        return;
                    std::string_view digits = http::trim(item.substr(equals + 1));
                    std::uint32_t n = 0;
                    auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
                    if (error == std::errc() && stop == digits.data() + digits.size())
                        idle_time_ = std::chrono::seconds(n);
                });
            }
            return true;
        case 14: return name != "content-length" || note_length(value);
        case 17:
            if (name != "transfer-encoding") return true;
            if (has_coding_ || !http::same_ignoring_case(value, "chunked"))
                return refuse("unsupported transfer coding");
            has_coding_ = true;
            return true;
        default: return true;
    }
}

// A number, or a list of the same number: proxies merge repeated headers.
bool response_reader::note_length(std::string_view value) {
    bool good = true;
    std::string_view rest = value;
    while (good) {
        const std::size_t comma = rest.find(',');
        const std::string_view item = http::trim(rest.substr(0, comma));
        std::uint64_t n = 0;
        good = !item.empty() && item.size() <= 18 && std::all_of(item.begin(), item.end(), is_digit);
        if (good) std::from_chars(item.data(), item.data() + item.size(), n);
        if (good && has_length_ && n != length_) return refuse("conflicting Content-Length values");
        length_ = n;
        has_length_ = true;
        if (comma == rest.npos) break;
        rest.remove_prefix(comma + 1);
    }
    return good || refuse("invalid Content-Length");
}

bool response_reader::decide_body() {
    if (has_coding_ && has_length_) return refuse("both Transfer-Encoding and Content-Length");
    if (has_coding_ && minor_ == 0) return refuse("Transfer-Encoding in HTTP/1.0");
    keep_alive_ = !says_close_ && (minor_ == 1 || says_keep_alive_);
    if (status_ < 200) return true;
    if (kind_ == request_kind::connect && status_ < 300) {
        state_ = state::complete;
    } else if (kind_ == request_kind::head || status_ == 204 || status_ == 304) {
        // A 204 that announces a body may be followed by one, which must not be taken for the next response.
        if (status_ == 204 && (has_coding_ || length_ > 0)) keep_alive_ = false;
        state_ = state::complete;
    } else if (has_coding_) {
        state_ = state::chunked;
    } else if (has_length_) {
        remaining_ = length_;
        state_ = remaining_ == 0 ? state::complete : state::sized;
    } else {
        keep_alive_ = false;
        state_ = state::until_close;
    }
    return true;
}

// ---- the body ----

response_reader::event response_reader::take_sized(std::string_view& bytes) {
    if (bytes.empty()) return event::more;
    piece_ = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, bytes.size())));
    bytes.remove_prefix(piece_.size());
    remaining_ -= piece_.size();
    if (remaining_ == 0) state_ = state::complete;
    return event::body;
}

response_reader::event response_reader::take_chunked(std::string_view& bytes) {
    switch (chunks_.next(bytes)) {
        case http::chunk_reader::event::more: return event::more;
        case http::chunk_reader::event::data: piece_ = chunks_.piece(); return event::body;
        case http::chunk_reader::event::end: state_ = state::complete; return event::end;
        default: break;
    }
    refuse("invalid chunk");
    bytes = {};
    return event::bad;
}

}  // namespace keel::http_client
