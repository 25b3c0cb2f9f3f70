#pragma once

// The grammar of HTTP/1 heads (RFC 9112). Requests and responses share the search for the end of a head and the header
// lines. No I/O and no copies: results are views of the text.

#include <keel/version.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::http {

struct header {
    std::string_view name;
    std::string_view value;  // without surrounding white space
};

/// Headers that are needed for every request; found once, while parsing.
enum class known : std::uint8_t {
    authorization,
    content_encoding,
    content_type,
    last_event_id,
    mcp_method,
    mcp_name,
    mcp_protocol_version,
    mcp_session_id,
    origin,
};
inline constexpr std::size_t known_count = 9;

/// Views are valid until the next call of the reader, and only as long as the bytes that it was fed.
struct request {
    std::string_view method;
    std::string_view target;  // as it was sent
    std::string_view path;    // of the target, without the query
    std::string_view query;   // without the '?'
    std::string_view
        host;  // from an absolute target, otherwise from the Host header; with the port; data() == nullptr: missing
    unsigned minor = 1;  // HTTP/1.minor
    bool keep_alive = true;
    bool has_body = false;
    std::span<const header> headers = {};
    std::string_view body;
    struct place {
        std::uint32_t first = 0;  // in headers, counted from 1
        std::uint32_t count = 0;
    };
    std::array<place, known_count> places = {};

    /// The first value, or a view whose data() is nullptr.
    std::string_view get(known which) const noexcept {
        const place& p = places[static_cast<std::size_t>(which)];
        return p.count > 0 ? headers[p.first - 1].value : std::string_view();
    }
    std::size_t count(known which) const noexcept { return places[static_cast<std::size_t>(which)].count; }
    /// The first value of that name, or a view whose data() is nullptr.
    std::string_view find(std::string_view lower_case_name) const noexcept;
    std::size_t count(std::string_view lower_case_name) const noexcept;
};

/// Finds the end of a head in bytes that arrive in pieces. Lines end with CRLF only.
class head_end_finder {
public:
    enum class event : std::uint8_t {
        more,     // the text ends inside a line
        line,     // one more line, which is not empty
        end,      // the empty line
        bare_lf,  // a line ends with LF alone
    };

    /// The next event in `text`, which begins with the first byte of the head and must only grow between calls.
    event next(std::string_view text) noexcept {
        start_ = next_start_;
        if (scanned_ >= text.size()) return event::more;
        const void* found = std::memchr(text.data() + scanned_, '\n', text.size() - scanned_);
        if (found == nullptr) {
            scanned_ = text.size();
            return event::more;
        }
        const auto lf = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
        scanned_ = next_start_ = lf + 1;
        if (lf == start_ || text[lf - 1] != '\r') return event::bare_lf;
        return lf - 1 == start_ ? event::end : event::line;
    }
    /// Where the line of the last event begins.
    std::size_t line_start() const noexcept { return start_; }
    /// Bytes that were looked at. After event::end: the size of the head.
    std::size_t scanned() const noexcept { return scanned_; }

private:
    std::size_t scanned_ = 0;
    std::size_t start_ = 0;
    std::size_t next_start_ = 0;
};

enum class line_error : std::uint8_t {
    none,
    name,     // the name is not a token, or no colon follows it at once
    control,  // a control character in the value
    bare_cr,  // CR without LF
};

/// Reads "name: value CRLF" at `at` and moves `at` behind it. The text up to `end` must contain a CRLF behind `at`.
line_error parse_header_line(const char*& at, const char* end, header& out) noexcept;

/// What the headers of a request say about its body. request_reader decides what of it is acceptable.
struct body_headers {
    std::size_t hosts = 0;
    std::size_t lengths = 0;  // Content-Length
    std::size_t codings = 0;  // Transfer-Encoding
    std::uint64_t length = 0;
    std::string_view coding;
    std::string_view expectation;  // Expect; data() == nullptr: none
};

enum class head_error : std::uint8_t {
    none,
    request_line,
    target,      // a character that no request target contains
    version,     // HTTP, but neither 1.0 nor 1.1
    header,      // see line_error
    length,      // Content-Length is not a number of 64 bits
    connection,  // Connection is not a list of tokens
};

/// Parses a head that ends with an empty line and whose lines all end with CRLF (see head_end_finder). Fills method,
/// target, minor, keep_alive, host and places of the request, and appends to `headers`.
head_error parse_request_head(std::string_view text, request&, std::vector<header>& headers, body_headers&);

}  // namespace keel::http
