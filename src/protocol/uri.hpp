#pragma once

// URIs (RFC 3986): validation, escapes, and path traversal.

#include <keel/version.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::protocol {

/// RES-04, RES-06: a URI with a scheme and an optional fragment, with only allowed characters and complete percent
/// escapes. The parts are checked too: "http://a:b:c/" has an invalid port, "x://[1]/" an invalid address.
bool is_valid_uri(std::string_view text) noexcept;

/// RES-05: true if a value, used as a path or part of one, could lead out of its folder: it has a segment "." or ".."
/// (between '/' or '\\'), is absolute (starts with '/', '\\' or a drive letter), or contains a NUL; as it is, or after
/// decoding percent escapes once more. For values that are already decoded, such as those of uri_template::match. Does
/// not check symbolic links.
bool is_path_traversal(std::string_view value);

/// Letters, digits, '-', '.', '_' and '~': never escaped.
constexpr bool is_unreserved(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == '~';
}
/// The characters that separate the parts of a URI.
constexpr bool is_reserved(char c) noexcept {
    return std::string_view(":/?#[]@!$&'()*+,;=").find(c) != std::string_view::npos;
}

constexpr int hex_digit(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/// The byte of the escape at `at`, or -1 if the escape is incomplete.
constexpr int escaped_byte(std::string_view text, std::size_t at) noexcept {
    if (at + 2 >= text.size() || text[at] != '%') return -1;
    const int high = hex_digit(text[at + 1]);
    const int low = hex_digit(text[at + 2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/// Decodes every complete escape and keeps everything else.
std::string percent_decode(std::string_view text);
/// Appends "%XX".
void append_escape(std::string& out, char byte);

}  // namespace keel::protocol
