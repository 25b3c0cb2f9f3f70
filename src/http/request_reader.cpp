#include "http/request_reader.hpp"

#include "http_common/tokens.hpp"

#include <algorithm>
#include <functional>

namespace keel::inline KEEL_ABI::http {

namespace {

constexpr std::size_t kept_memory = 64 * 1024;
constexpr std::uint8_t max_empty_bytes = 8;  // four empty lines: some old clients send one after a body

/// True if all codings of the list are known. Not all of these are allowed.
bool knows_codings(std::string_view list) {
    bool all = true;
    for_each_item(list, [&](std::string_view coding) { all = all && same_ignoring_case(coding, "chunked"); });
    return all;
}

}  // namespace

request_reader::request_reader(const reader_limits& limits, async::spare_buffers* spares)
    : limits_(limits), kept_body_(spares), chunks_({.max_body = limits.max_body,
                                                    .max_overhead = limits.max_head,
                                                    .max_trailers = limits.max_headers,
                                                    .is_stream = false}) {}

std::size_t request_reader::feed(std::string_view bytes, bool stop_at_body) {
    if (state_ == state::refused) return bytes.size();
    if (state_ == state::complete) return 0;
    const bool had_head = state_ == state::body;
    std::size_t taken = had_head ? 0 : take_head(bytes);
    if (state_ == state::body) {
        const std::string_view rest = bytes.substr(taken);
        if (!rest.empty()) wants_continue_ = false;
        const bool all_here = framing_ == framing::sized && rest.size() >= remaining_;
        if (had_head || all_here || !stop_at_body)
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
                refuse(400, "invalid line end: CR without LF");
            } else if (!is_token_char(bytes[n])) {
                refuse(400, "not an HTTP request");  // at once: a TLS client may never send a line end
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
    kept_head_.append(bytes.substr(0, limits_.max_head - before));  // a head that reaches the limit is refused below
    const std::size_t end = find_head_end(kept_head_);
    if (state_ == state::refused) return taken;
    if (end == 0) return taken + bytes.size();
    kept_head_.resize(end);
    parse_head(kept_head_);
    return taken + end - before;
}

/// Returns the size of the head, or 0 if it is incomplete. Continues where the last call stopped.
std::size_t request_reader::find_head_end(std::string_view text) {
    using event = head_end_finder::event;
    const std::string_view available = text.substr(0, limits_.max_head);
    event e = end_finder_.next(available);
    for (; e == event::line; e = end_finder_.next(available)) {
        const char first = text[end_finder_.line_start()];
        if (lines_ > 0 && (first == ' ' || first == '\t')) {
            refuse(400, "folded header lines are not supported");
            return 0;
        }
        if (lines_ > limits_.max_headers) {
            refuse(431, "too many headers");
            return 0;
        }
        ++lines_;
    }
    if (e == event::end) return end_finder_.scanned();
    if (e == event::bare_lf) {
        refuse(400, "invalid line end: LF without CR");
    } else if (available.size() == limits_.max_head) {
        if (lines_ == 0) refuse(414, "the request target is too long");
        else refuse(431, "the request head is too large");
    }
    return 0;
}

void request_reader::parse_head(std::string_view text) {
    head_text_ = text;
    body_headers body;
    if (const head_error error = parse_request_head(text, request_, headers_, body); error != head_error::none)
        return refuse_head(error);
    request_.headers = headers_;
    if (!split_target()) return;
    if (body.hosts > 1) return refuse(400, "duplicate Host header");
    if (body.hosts == 0 && request_.minor == 1) return refuse(400, "missing Host header");

    if (body.codings > 0) {
        if (body.lengths > 0) return refuse(400, "Transfer-Encoding and Content-Length must not be used together");
        if (body.codings > 1) return refuse(400, "duplicate Transfer-Encoding header");
        if (!knows_codings(body.coding)) return refuse(501, "unsupported transfer coding: use chunked");
        if (!same_ignoring_case(body.coding, "chunked")) return refuse(400, "invalid Transfer-Encoding");
        if (request_.minor == 0) return refuse(400, "Transfer-Encoding is not supported in HTTP/1.0");
        framing_ = framing::chunked;
    } else if (body.lengths > 0) {
        if (body.lengths > 1) return refuse(400, "duplicate Content-Length header");
        remaining_ = body.length;
        if (remaining_ > limits_.max_body) return refuse(413, "the request body is too large");
        if (remaining_ > 0) framing_ = framing::sized;
    }
    const bool expects = body.expectation.data() != nullptr;
    if (expects && !same_ignoring_case(body.expectation, "100-continue"))
        return refuse(417, "unsupported Expect header: use 100-continue");
    request_.has_body = framing_ != framing::none;
    wants_continue_ = expects && request_.has_body && request_.minor == 1;
    state_ = request_.has_body ? state::body : state::complete;
}

void request_reader::refuse_head(head_error why) {
    switch (why) {
        case head_error::version: return refuse(505, "unsupported HTTP version: use HTTP/1.1 or HTTP/1.0");
        case head_error::target: return refuse(400, "invalid request target");
        case head_error::header: return refuse(400, "invalid header line");
        case head_error::length: return refuse(400, "invalid Content-Length");
        case head_error::connection: return refuse(400, "invalid Connection header");
        default: return refuse(400, "invalid request line");
    }
}

/// Origin form ("/mcp?x") or absolute form ("http://host/mcp?x"). Other forms are for proxies.
bool request_reader::split_target() {
    std::string_view target = request_.target;
    const auto bad = [&] {
        refuse(400, "invalid request target");
        return false;
    };
    if (target.size() > limits_.max_target) {
        refuse(414, "the request target is too long");
        return false;
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
    // Memory is allocated as the body arrives, not for the announced Content-Length, which costs the client nothing.
    kept_body_.append(bytes.substr(0, n), kept_body_.size() + static_cast<std::size_t>(remaining_));
    remaining_ -= n;
    if (remaining_ == 0) {
        request_.body = kept_body_.text();
        state_ = state::complete;
    }
    return n;
}

std::span<char> request_reader::room() {
    constexpr std::size_t read_size = 256 * 1024;
    if (state_ != state::body || framing_ != framing::sized || kept_body_.size() < kept_memory) return {};
    const std::size_t left = static_cast<std::size_t>(remaining_);
    const std::span<char> all = kept_body_.room(std::min(left, read_size), kept_body_.size() + left);
    return all.first(std::min(all.size(), left));
}

void request_reader::release_body() {
    if (state_ != state::complete) return;
    request_.body = {};
    kept_body_.clear(kept_memory);
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
            request_.body = kept_body_.text();
            state_ = state::complete;
        } else if (e != chunk_reader::event::more) {
            refuse_chunk(e);
        }
        return bytes.size() - rest.size();
    }
}

void request_reader::refuse_chunk(chunk_reader::event why) {
    switch (why) {
        case chunk_reader::event::body_too_large: return refuse(413, "the request body is too large");
        case chunk_reader::event::extensions_too_large: return refuse(400, "too many chunk extensions");
        case chunk_reader::event::trailers_too_large: return refuse(431, "the trailers are too large");
        case chunk_reader::event::too_many_trailers: return refuse(431, "too many trailers");
        default: return refuse(400, "invalid chunk");
    }
}

/// Copies the head, because the caller's bytes are about to be invalid.
void request_reader::keep_head() {
    if (head_text_.data() == kept_head_.data()) return;
    kept_head_.assign(head_text_);
    const std::string_view old = head_text_;
    const auto move = [&](std::string_view& view) {
        const char* at = view.data();
        // Some views do not point into the head: missing headers, and the default path "/".
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
    release_memory();  // a refused request keeps no memory
    refusal_ = {status, reason};
}

void request_reader::forget() {
    request_ = {};
    headers_.clear();
    head_text_ = {};
    kept_head_.clear();
    kept_body_.clear(kept_memory);
}

void request_reader::next() {
    forget();
    if (kept_head_.capacity() > kept_memory) std::string().swap(kept_head_);
    refusal_ = {};
    end_finder_ = {};
    lines_ = 0;
    remaining_ = 0;
    chunks_.start();
    state_ = state::head;
    framing_ = framing::none;
    empty_lines_ = 0;
    begun_ = wants_continue_ = false;
}

void request_reader::release_memory() {
    if (state_ == state::body || (state_ == state::head && begun_)) return;  // the buffers are in use
    forget();
    std::string().swap(kept_head_);
    kept_body_.clear(0);
    std::vector<header>().swap(headers_);
}

std::size_t request_reader::memory() const noexcept {
    const std::size_t inside = std::string().capacity();  // short strings need no heap memory
    const auto kept = [&](std::size_t capacity) { return capacity > inside ? capacity : 0; };
    return kept(kept_head_.capacity()) + kept(kept_body_.capacity()) + headers_.capacity() * sizeof(header);
}

}  // namespace keel::http
