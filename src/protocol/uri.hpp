#pragma once

// URIs (RFC 3986): which characters they are made of, and what to refuse.

#include <keel/version.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::protocol {

/// RES-04, RES-06: a URI with a scheme and perhaps a fragment, made of allowed characters and whole percent escapes.
/// The parts are checked too: "http://a:b:c/" has no such port, "x://[1]/" no such address.
bool is_valid_uri(std::string_view text) noexcept;

/// RES-05: true when a value, taken as a path or part of one, could lead out of the folder it is meant for. That is: it
/// has a segment "." or ".." (between '/' or '\\'), or is absolute (starts with '/', '\\' or a drive letter), or holds
/// a NUL; as it is, or after percent escapes were decoded once more. For values that are decoded already, as those of
/// uri_template::match are. Symbolic links are for whoever opens the file to look at.
bool is_path_traversal(std::string_view value);

/// Letters, digits, '-', '.', '_' and '~': what never needs an escape.
constexpr bool is_unreserved(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == '~';
}
/// The characters that separate the parts of URIs.
constexpr bool is_reserved(char c) noexcept {
    return std::string_view(":/?#[]@!$&'()*+,;=").find(c) != std::string_view::npos;
}

constexpr int hex_digit(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/// The byte of the escape that starts at `at`, or -1 when there is no whole one.
constexpr int escaped_byte(std::string_view text, std::size_t at) noexcept {
    if (at + 2 >= text.size() || text[at] != '%') return -1;
    const int high = hex_digit(text[at + 1]);
    const int low = hex_digit(text[at + 2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/// Decodes every whole escape and leaves everything else as it is.
std::string percent_decode(std::string_view text);
/// Appends "%XX".
void append_escape(std::string& out, char byte);

}  // namespace keel::protocol
