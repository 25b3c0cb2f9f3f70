#include "http/request_reader.hpp"

#include "http/tokens.hpp"

#include <boost/beast/http/basic_parser.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>

namespace keel::inline KEEL_ABI::http {

namespace beast = boost::beast;

namespace {

constexpr std::size_t kept_memory = 64 * 1024;
constexpr std::uint8_t max_empty_bytes = 8;  // four empty lines: old clients send one after a body

std::string_view standard(beast::string_view text) noexcept { return {text.data(), text.size()}; }

/// "HTTP/2.0" is a version that we do not speak; whatever else Beast calls a bad version is not HTTP at all.
bool names_another_version(std::string_view head) noexcept {
    const std::string_view line = head.substr(0, head.find('\r'));
    if (line.size() < 9) return false;
    const std::string_view last = line.substr(line.size() - 9);
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    if (!last.starts_with(" HTTP/") || !digit(last[6]) || last[7] != '.' || !digit(last[8])) return false;
    return !last.ends_with("1.0") && !last.ends_with("1.1");
}

/// True when every coding of the list is one we know; which of them may stand there is another matter.
bool knows_codings(std::string_view list) {
    bool all = true;
    for_each_item(list, [&](std::string_view coding) { all = all && same_ignoring_case(coding, "chunked"); });
    return all;
}

}  // namespace

std::string_view request::find(std::string_view lower_case_name) const noexcept {
    for (const header& each : headers) {
        if (same_ignoring_case(each.name, lower_case_name)) return each.value;
    }
    return {};
}

std::size_t request::count(std::string_view lower_case_name) const noexcept {
    std::size_t n = 0;
    for (const header& each : headers) n += same_ignoring_case(each.name, lower_case_name) ? 1 : 0;
    return n;
}

/// Reads the grammar of a head that is complete, and only that: bodies are framed by our own stricter rules.
class request_reader::head_parser final : public beast::http::basic_parser<true> {
public:
    explicit head_parser(request_reader& reader) : reader_(reader) {
        header_limit(std::numeric_limits<std::uint32_t>::max());  // find_head_end has looked after that
        body_limit(boost::none);
        skip(true);
    }

    std::size_t lengths = 0;
    std::size_t codings = 0;
    std::size_t hosts = 0;
    bool plain_length = true;  // digits alone, not a list of equal numbers
    std::string_view coding;
    std::string_view expectation;
    std::string_view host;

private:
    using error_code = beast::error_code;
    using string_view = beast::string_view;
    using field = beast::http::field;

    void on_request_impl(beast::http::verb, string_view method, string_view target, int version, error_code&) override {
        reader_.request_.method = standard(method);
        reader_.request_.target = standard(target);
        reader_.request_.minor = static_cast<unsigned>(version - 10);
    }
    void on_field_impl(field name, string_view text, string_view value, error_code&) override {
        reader_.headers_.push_back({standard(text), standard(value)});
        switch (name) {
            case field::content_length:
                ++lengths;
                for (char c : value) plain_length = plain_length && c >= '0' && c <= '9';
                break;
            case field::transfer_encoding:
                ++codings;
                coding = standard(value);
                break;
            case field::host:
                ++hosts;
                host = standard(value);
                break;
            case field::expect: expectation = standard(value); break;
            case field::authorization: note(known::authorization); break;
            case field::content_type: note(known::content_type); break;
            case field::origin: note(known::origin); break;
            case field::unknown: note_unknown(standard(text)); break;
            default: break;
        }
    }

    void note(known which) noexcept {
        request::place& p = reader_.request_.places[static_cast<std::size_t>(which)];
        if (p.count++ == 0) p.first = static_cast<std::uint32_t>(reader_.headers_.size());
    }
    // Those that Beast has no name for. They differ in length.
    void note_unknown(std::string_view name) noexcept {
        switch (name.size()) {
            case 8: return note_if(name, "mcp-name", known::mcp_name);
            case 10: return note_if(name, "mcp-method", known::mcp_method);
            case 13: return note_if(name, "last-event-id", known::last_event_id);
            case 14: return note_if(name, "mcp-session-id", known::mcp_session_id);
            case 20: return note_if(name, "mcp-protocol-version", known::mcp_protocol_version);
            default: return;
        }
    }
    void note_if(std::string_view name, std::string_view wanted, known which) noexcept {
        if (same_ignoring_case(name, wanted)) note(which);
    }
    void on_header_impl(error_code&) override {}
    void on_finish_impl(error_code&) override {}

    // Never called: Beast sees no body.
    void on_response_impl(int, string_view, int, error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
    std::size_t on_body_impl(string_view body, error_code&) override { return body.size(); }
    void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code&) override { return body.size(); }

    request_reader& reader_;
};

request_reader::request_reader(const reader_limits& limits)
    : limits_(limits), chunks_({.max_body = limits.max_body,
                                .max_overhead = limits.max_head,
                                .max_trailers = limits.max_headers,
                                .is_stream = false}) {}

std::size_t request_reader::feed(std::string_view bytes) {
    if (state_ == state::refused) return bytes.size();
    if (state_ == state::complete) return 0;
    std::size_t taken = state_ == state::head ? take_head(bytes) : 0;
    if (state_ == state::body) {
        const std::string_view rest = bytes.substr(taken);
        if (!rest.empty()) wants_continue_ = false;
        taken += framing_ == framing::sized ? take_sized(rest) : take_chunked(rest);
        if (state_ == state::body) keep_head();
    }
    return state_ == state::refused ? bytes.size() : taken;
}

std::size_t request_reader::skip_empty_lines(std::string_view bytes) {
    std::size_t n = 0;
    for (; n != bytes.size(); ++n) {
        const char expected = empty_lines_ % 2 == 0 ? '\r' : '\n';
        if (bytes[n] != expected) {
            if (expected == '\n') {
                refuse(400, "a line ends with CR alone");
            } else if (!is_token_char(bytes[n])) {
                refuse(400, "not an HTTP request");  // at once: whoever speaks TLS to us may never send a line end
            } else {
                begun_ = true;
            }
            return n;
        }
        if (++empty_lines_ > max_empty_bytes) {
            refuse(400, "too many empty lines");
            return n;
        }
    }
    return n;
}

std::size_t request_reader::take_head(std::string_view bytes) {
    std::size_t taken = 0;
    if (!begun_) {
        taken = skip_empty_lines(bytes);
        if (!begun_) return taken;
        bytes.remove_prefix(taken);
    }
    if (kept_head_.empty()) {
        const std::size_t end = find_head_end(bytes);
        if (state_ == state::refused) return taken;
        if (end != 0) {
            parse_head(bytes.substr(0, end));
            return taken + end;
        }
        kept_head_.assign(bytes);
        return taken + bytes.size();
    }
    const std::size_t before = kept_head_.size();
    kept_head_.append(bytes.substr(0, limits_.max_head - before));  // a head that reached the limit was refused
    const std::size_t end = find_head_end(kept_head_);
    if (state_ == state::refused) return taken;
    if (end == 0) return taken + bytes.size();
    kept_head_.resize(end);
    parse_head(kept_head_);
    return taken + end - before;
}

/// How long the head is, or 0 as long as its end has not come. Goes on where it stopped the last time.
std::size_t request_reader::find_head_end(std::string_view text) {
    const std::size_t available = std::min(text.size(), limits_.max_head);
    while (scanned_ < available) {
        const void* found = std::memchr(text.data() + scanned_, '\n', available - scanned_);
        if (found == nullptr) {
            scanned_ = available;
            break;
        }
        const std::size_t lf = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
        scanned_ = lf + 1;
        if (lf == line_start_ || text[lf - 1] != '\r') {
            refuse(400, "a line ends with LF alone");
            return 0;
        }
        if (lf - 1 == line_start_) return scanned_;
        if (lines_ > 0 && (text[line_start_] == ' ' || text[line_start_] == '\t')) {
            refuse(400, "a header is folded");
            return 0;
        }
        if (lines_ > limits_.max_headers) {
            refuse(431, "too many headers");
            return 0;
        }
        ++lines_;
        line_start_ = scanned_;
    }
    if (scanned_ >= limits_.max_head) {
        if (lines_ == 0) refuse(414, "the request target is too long");
        else refuse(431, "the head is too large");
    }
    return 0;
}

void request_reader::parse_head(std::string_view text) {
    head_text_ = text;
    head_parser parser(*this);
    beast::error_code error;
    parser.put({text.data(), text.size()}, error);
    if (error || !parser.is_header_done()) {
        if (error == beast::http::error::bad_version && names_another_version(text))
            return refuse(505, "HTTP/1.0 or HTTP/1.1 please");
        return refuse(400, "malformed request");
    }
    request_.headers = headers_;
    request_.keep_alive = parser.keep_alive();
    request_.host = parser.host;
    if (!split_target()) return;
    if (parser.hosts > 1) return refuse(400, "more than one Host");
    if (parser.hosts == 0 && request_.minor == 1) return refuse(400, "Host is missing");

    if (parser.codings > 0) {
        if (!knows_codings(parser.coding)) return refuse(501, "unknown transfer coding");
        if (parser.codings > 1 || !same_ignoring_case(parser.coding, "chunked"))
            return refuse(400, "bad Transfer-Encoding");
        // Beast refuses this too, today.
        if (parser.lengths > 0) return refuse(400, "both Transfer-Encoding and Content-Length");
        if (request_.minor == 0) return refuse(400, "Transfer-Encoding in HTTP/1.0");
        framing_ = framing::chunked;
    } else if (parser.lengths > 0) {
        if (parser.lengths > 1 || !parser.plain_length) return refuse(400, "more than one Content-Length");
        remaining_ = *parser.content_length();
        if (remaining_ > limits_.max_body) return refuse(413, "the body is too large");
        if (remaining_ > 0) framing_ = framing::sized;
    }
    const bool expects = parser.expectation.data() != nullptr;
    if (expects && !same_ignoring_case(parser.expectation, "100-continue")) return refuse(417, "unknown expectation");
    request_.has_body = framing_ != framing::none;
    wants_continue_ = expects && request_.has_body && request_.minor == 1;
    state_ = request_.has_body ? state::body : state::complete;
}

/// Origin form ("/mcp?x") or absolute form ("http://host/mcp?x"). The others are for proxies.
bool request_reader::split_target() {
    std::string_view target = request_.target;
    const auto bad = [&] {
        refuse(400, "bad request target");
        return false;
    };
    if (target.size() > limits_.max_target) {
        refuse(414, "the request target is too long");
        return false;
    }
    for (char c : target) {
        if (c <= 0x20 || c >= 0x7f || c == '#') return bad();  // char is signed or not: both ways beyond ASCII is out
    }
    if (!target.starts_with('/')) {
        const std::size_t colon = target.find("://");
        if (colon == std::string_view::npos) return bad();
        const std::string_view scheme = target.substr(0, colon);
        if (!same_ignoring_case(scheme, "http") && !same_ignoring_case(scheme, "https")) return bad();
        target.remove_prefix(colon + 3);
        const std::size_t end = std::min(target.find_first_of("/?"), target.size());
        const std::string_view authority = target.substr(0, end);
        if (authority.empty() || authority.find('@') != std::string_view::npos) return bad();
        request_.host = authority;
        target.remove_prefix(end);
    }
    const std::size_t question = std::min(target.find('?'), target.size());
    request_.path = question == 0 ? std::string_view("/") : target.substr(0, question);
    request_.query = target.substr(std::min(question + 1, target.size()));
    return true;
}

std::size_t request_reader::take_sized(std::string_view bytes) {
    if (kept_body_.empty() && bytes.size() >= remaining_) {
        request_.body = bytes.substr(0, static_cast<std::size_t>(remaining_));
        state_ = state::complete;
        return request_.body.size();
    }
    const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, bytes.size()));
    const std::size_t needed = kept_body_.size() + n;
    // Room for what was promised only as it comes: a promise costs the client nothing.
    if (kept_body_.capacity() < needed) {
        const std::size_t whole = kept_body_.size() + static_cast<std::size_t>(remaining_);
        kept_body_.reserve(std::min(whole, std::max({needed, 2 * kept_body_.capacity(), kept_memory})));
    }
    kept_body_.append(bytes.substr(0, n));
    remaining_ -= n;
    if (remaining_ == 0) {
        request_.body = kept_body_;
        state_ = state::complete;
    }
    return n;
}

std::size_t request_reader::take_chunked(std::string_view bytes) {
    std::string_view rest = bytes;
    while (true) {
        const chunk_reader::event e = chunks_.next(rest);
        if (e == chunk_reader::event::data) {
            kept_body_.append(chunks_.piece());
            continue;
        }
        if (e == chunk_reader::event::end) {
            request_.body = kept_body_;
            state_ = state::complete;
        } else if (e != chunk_reader::event::more) {
            refuse_chunk(e);
        }
        return bytes.size() - rest.size();
    }
}

void request_reader::refuse_chunk(chunk_reader::event why) {
    switch (why) {
        case chunk_reader::event::body_too_large: return refuse(413, "the body is too large");
        case chunk_reader::event::extensions_too_large: return refuse(400, "too many chunk extensions");
        case chunk_reader::event::trailers_too_large: return refuse(431, "the trailers are too large");
        case chunk_reader::event::too_many_trailers: return refuse(431, "too many trailers");
        default: return refuse(400, "bad chunk");
    }
}

/// The caller's bytes go away: what the views of the head point to moves here.
void request_reader::keep_head() {
    if (head_text_.data() == kept_head_.data()) return;
    kept_head_.assign(head_text_);
    const std::string_view old = head_text_;
    const auto move = [&](std::string_view& view) {
        const char* at = view.data();
        // Not every view lies in the head: there are absent ones, and the path "/" of a target without one.
        if (at == nullptr || std::less<>()(at, old.data()) || std::less<>()(old.data() + old.size(), at)) return;
        view = {kept_head_.data() + (at - old.data()), view.size()};
    };
    for (std::string_view* each :
         {&request_.method, &request_.target, &request_.path, &request_.query, &request_.host}) {
        move(*each);
    }
    for (header& each : headers_) {
        move(each.name);
        move(each.value);
    }
    head_text_ = kept_head_;
}

void request_reader::refuse(int status, const char* reason) {
    state_ = state::refused;
    release_memory();  // nothing of a refused request is kept
    refusal_ = {status, reason};
}

void request_reader::forget() {
    request_ = {};
    headers_.clear();
    head_text_ = {};
    kept_head_.clear();
    kept_body_.clear();
}

void request_reader::next() {
    forget();
    if (kept_body_.capacity() > kept_memory) std::string().swap(kept_body_);
    if (kept_head_.capacity() > kept_memory) std::string().swap(kept_head_);
    refusal_ = {};
    scanned_ = line_start_ = lines_ = 0;
    remaining_ = 0;
    chunks_.start();
    state_ = state::head;
    framing_ = framing::none;
    empty_lines_ = 0;
    begun_ = wants_continue_ = false;
}

void request_reader::release_memory() {
    if (state_ == state::body || (state_ == state::head && begun_)) return;  // all of it is needed
    forget();
    std::string().swap(kept_head_);
    std::string().swap(kept_body_);
    std::vector<header>().swap(headers_);
}

std::size_t request_reader::memory() const noexcept {
    const std::size_t inside = std::string().capacity();  // a short string needs no memory of its own
    const auto kept = [&](const std::string& s) { return s.capacity() > inside ? s.capacity() : 0; };
    return kept(kept_head_) + kept(kept_body_) + headers_.capacity() * sizeof(header);
}

}  // namespace keel::http
