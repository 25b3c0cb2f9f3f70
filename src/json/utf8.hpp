#pragma once

#include <keel/version.hpp>

#include <cstddef>

namespace keel::inline KEEL_ABI::json::detail {

/// The result of skip_non_ascii.
struct utf8_run {
    const char* end;  // the first ASCII byte, or the end of the text; or the first invalid byte
    bool valid;
};

/// Checks characters outside ASCII from `p` to the next ASCII character. A character truncated by the end of the text
/// is invalid, and `end` is that end.
inline utf8_run skip_non_ascii(const char* p, const char* end) noexcept {
    const auto at = [&](std::ptrdiff_t i) { return static_cast<unsigned char>(p[i]); };
    while (p != end && at(0) >= 0x80) {
        const unsigned char lead = at(0);
        // Only the range of the second byte varies: it excludes overlong forms, surrogates, and values above U+10FFFF
        // (table 3-7 of the Unicode standard).
        unsigned char low = 0x80;
        unsigned char high = 0xBF;
        std::ptrdiff_t length = 0;
        if (lead >= 0xC2 && lead <= 0xDF) {
            length = 2;
        } else if (lead >= 0xE0 && lead <= 0xEF) {
            length = 3;
            if (lead == 0xE0) low = 0xA0;
            if (lead == 0xED) high = 0x9F;
        } else if (lead >= 0xF0 && lead <= 0xF4) {
            length = 4;
            if (lead == 0xF0) low = 0x90;
            if (lead == 0xF4) high = 0x8F;
        } else {
            return {p, false};
        }
        for (std::ptrdiff_t i = 1; i != length; ++i) {
            if (i == end - p || at(i) < low || at(i) > high) return {p + i, false};
            low = 0x80;
            high = 0xBF;
        }
        p += length;
    }
    return {p, true};
}

/// Writes the one to four bytes of a character. Returns the end.
inline char* put_utf8(char* out, char32_t c) noexcept {
    const auto put = [&](char32_t byte) { *out++ = static_cast<char>(static_cast<unsigned char>(byte)); };
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xC0 | c >> 6);
        put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        put(0xE0 | c >> 12);
        put(0x80 | (c >> 6 & 0x3F));
        put(0x80 | (c & 0x3F));
    } else {
        put(0xF0 | c >> 18);
        put(0x80 | (c >> 12 & 0x3F));
        put(0x80 | (c >> 6 & 0x3F));
        put(0x80 | (c & 0x3F));
    }
    return out;
}

}  // namespace keel::json::detail
