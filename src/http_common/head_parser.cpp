#include "http_common/head_parser.hpp"

#include "http_common/tokens.hpp"

#include <bit>
#include <charconv>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace keel::inline KEEL_ABI::http {

namespace {

using table = std::array<bool, 256>;

constexpr table token_chars = [] {
    table out{};
    for (unsigned c = '0'; c <= '9'; ++c) out[c] = true;
    for (unsigned c = 'a'; c <= 'z'; ++c) out[c] = out[c - 32] = true;
    for (char c : std::string_view("!#$%&'*+-.^_`|~")) out[static_cast<unsigned char>(c)] = true;
    return out;
}();

// A target consists of visible ASCII without '#': clients do not send fragments.
constexpr table target_chars = [] {
    table out{};
    for (unsigned c = 0x21; c < 0x7f; ++c) out[c] = c != '#';
    return out;
}();

constexpr table value_chars = [] {
    table out{};
    for (unsigned c = 0; c < 256; ++c) out[c] = (c >= 0x20 && c != 0x7f) || c == '\t';
    return out;
}();

const char* skip(const char* at, const char* end, const table& chars) noexcept {
    while (at != end && chars[static_cast<unsigned char>(*at)]) ++at;
    return at;
}

#if defined(__SSE2__)

// 16 bytes at a time. `stops` returns a mask of the bytes that may end the run; from there the table decides.
constexpr std::ptrdiff_t block_size = 16;

__m128i all(int byte) noexcept { return _mm_set1_epi8(static_cast<char>(byte)); }

__m128i in_range(__m128i bytes, int first, int last) noexcept {
    const __m128i offset = _mm_sub_epi8(bytes, all(first));
    return _mm_cmpeq_epi8(_mm_min_epu8(offset, all(last - first)), offset);
}

template <class Stops>
const char* skip_blocks(const char* at, const char* end, const table& chars, Stops stops) noexcept {
    while (end - at >= block_size) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        const auto mask = static_cast<unsigned>(_mm_movemask_epi8(stops(bytes)));
        if (mask != 0) {
            at += std::countr_zero(mask);
            break;
        }
        at += block_size;
    }
    return skip(at, end, chars);
}

const char* skip_token(const char* at, const char* end) noexcept {
    // Letters, digits and '-': other token characters are rare.
    return skip_blocks(at, end, token_chars, [](__m128i bytes) noexcept {
        const __m128i letter = in_range(_mm_or_si128(bytes, all(0x20)), 'a', 'z');
        const __m128i other = _mm_or_si128(in_range(bytes, '0', '9'), _mm_cmpeq_epi8(bytes, all('-')));
        return _mm_cmpeq_epi8(_mm_or_si128(letter, other), _mm_setzero_si128());
    });
}

const char* skip_target(const char* at, const char* end) noexcept {
    return skip_blocks(at, end, target_chars, [](__m128i bytes) noexcept {
        const __m128i visible = in_range(bytes, 0x21, 0x7e);
        return _mm_or_si128(_mm_cmpeq_epi8(visible, _mm_setzero_si128()), _mm_cmpeq_epi8(bytes, all('#')));
    });
}

const char* skip_value(const char* at, const char* end) noexcept {
    return skip_blocks(at, end, value_chars, [](__m128i bytes) noexcept {
        const __m128i control = in_range(bytes, 0, 0x1f);
        return _mm_or_si128(_mm_andnot_si128(_mm_cmpeq_epi8(bytes, all('\t')), control),
                            _mm_cmpeq_epi8(bytes, all(0x7f)));
    });
}

#else

const char* skip_token(const char* at, const char* end) noexcept { return skip(at, end, token_chars); }
const char* skip_target(const char* at, const char* end) noexcept { return skip(at, end, target_chars); }
const char* skip_value(const char* at, const char* end) noexcept { return skip(at, end, value_chars); }

#endif

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

std::string_view between(const char* first, const char* last) noexcept {
    return {first, static_cast<std::size_t>(last - first)};
}

/// Whether a token is `lower`, which consists of letters and '-', in any case. Exact, because of all token characters
/// only 'X' and 'x' have the same bits besides 0x20, and only '-' itself becomes '-'.
template <std::size_t Size>
bool is(std::string_view token, const char (&lower)[Size]) noexcept {
    unsigned different = 0;
    for (std::size_t i = 0; i != Size - 1; ++i)
        different |= static_cast<unsigned>(token[i] | 0x20) ^ static_cast<unsigned>(lower[i]);
    return different == 0;
}

/// Collects the headers that the server needs.
class notes {
public:
    notes(request& r, std::vector<header>& headers, body_headers& body) noexcept
        : request_(r), headers_(headers), body_(body) {}

    head_error add(const header& h) {
        headers_.push_back(h);
        switch (h.name.size()) {
            case 4:
                if (is(h.name, "host")) {
                    ++body_.hosts;
                    request_.host = h.value;
                }
                break;
            case 6:
                if (is(h.name, "origin")) place(known::origin);
                else if (is(h.name, "expect")) body_.expectation = h.value;
                break;
            case 8:
                if (is(h.name, "mcp-name")) place(known::mcp_name);
                break;
            case 10:
                if (is(h.name, "mcp-method")) place(known::mcp_method);
                else if (is(h.name, "connection")) return connection(h.value);
                break;
            case 12:
                if (is(h.name, "content-type")) place(known::content_type);
                break;
            case 13:
                if (is(h.name, "authorization")) place(known::authorization);
                else if (is(h.name, "last-event-id")) place(known::last_event_id);
                break;
            case 14:
                if (is(h.name, "content-length")) return length(h.value);
                if (is(h.name, "mcp-session-id")) place(known::mcp_session_id);
                break;
            case 16:
                if (is(h.name, "content-encoding")) place(known::content_encoding);
                break;
            case 17:
                if (is(h.name, "transfer-encoding")) {
                    ++body_.codings;
                    body_.coding = h.value;
                }
                break;
            case 20:
                if (is(h.name, "mcp-protocol-version")) place(known::mcp_protocol_version);
                break;
            default: break;
        }
        return head_error::none;
    }
    bool keep_alive() const noexcept { return !says_close_ && (request_.minor == 1 || says_keep_alive_); }

private:
    void place(known which) noexcept {
        request::place& p = request_.places[static_cast<std::size_t>(which)];
        if (p.count++ == 0) p.first = static_cast<std::uint32_t>(headers_.size());
    }
    head_error length(std::string_view value) noexcept {
        ++body_.lengths;
        const char* end = value.data() + value.size();
        const auto [stop, error] = std::from_chars(value.data(), end, body_.length);
        return error == std::errc() && stop == end ? head_error::none : head_error::length;
    }
    head_error connection(std::string_view value) {
        bool good = true;
        for_each_item(value, [&](std::string_view item) {
            good = good && skip_token(item.data(), item.data() + item.size()) == item.data() + item.size();
            if (same_ignoring_case(item, "close")) says_close_ = true;
            if (same_ignoring_case(item, "keep-alive")) says_keep_alive_ = true;
        });
        return good ? head_error::none : head_error::connection;
    }

    request& request_;
    std::vector<header>& headers_;
    body_headers& body_;
    bool says_close_ = false;
    bool says_keep_alive_ = false;
};

/// request-line = method SP request-target SP HTTP-version CRLF
head_error parse_request_line(const char*& at, const char* end, request& r) noexcept {
    const char* stop = skip_token(at, end);
    if (stop == at || stop == end || *stop != ' ') return head_error::request_line;
    r.method = between(at, stop);
    at = stop + 1;
    stop = skip_target(at, end);
    if (stop == end || *stop == '\r') return head_error::request_line;
    if (*stop != ' ') return head_error::target;
    if (stop == at) return head_error::request_line;
    r.target = between(at, stop);
    at = stop + 1;

    constexpr std::string_view name = "HTTP/";
    if (end - at < 10 || std::memcmp(at, name.data(), name.size()) != 0) return head_error::request_line;
    if (!is_digit(at[5]) || at[6] != '.' || !is_digit(at[7]) || at[8] != '\r' || at[9] != '\n')
        return head_error::request_line;
    if (at[5] != '1' || at[7] > '1') return head_error::version;
    r.minor = static_cast<unsigned>(at[7] - '0');
    at += 10;
    return head_error::none;
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

line_error parse_header_line(const char*& at, const char* end, header& out) noexcept {
    const char* stop = skip_token(at, end);
    if (stop == at || stop == end || *stop != ':') return line_error::name;
    out.name = between(at, stop);
    const char* value = stop + 1;
    while (value != end && is_blank(*value)) ++value;
    stop = skip_value(value, end);
    if (stop == end || *stop != '\r') return line_error::control;
    if (end - stop < 2 || stop[1] != '\n') return line_error::bare_cr;
    at = stop + 2;
    while (stop != value && is_blank(stop[-1])) --stop;
    out.value = between(value, stop);
    return line_error::none;
}

head_error parse_request_head(std::string_view text, request& r, std::vector<header>& headers, body_headers& body) {
    const char* at = text.data();
    const char* end = at + text.size();
    if (const head_error error = parse_request_line(at, end, r); error != head_error::none) return error;
    notes known_headers(r, headers, body);
    while (end - at > 2) {  // the empty line is left
        header h;
        if (parse_header_line(at, end, h) != line_error::none) return head_error::header;
        if (const head_error error = known_headers.add(h); error != head_error::none) return error;
    }
    r.keep_alive = known_headers.keep_alive();
    return head_error::none;
}

}  // namespace keel::http
