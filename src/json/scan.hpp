#pragma once

// Finds the end of a run of plain characters: ASCII characters that need no escape in a JSON string. Reader, writer and
// UTF-8 check spend most of their time here.

#include <keel/version.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace keel::inline KEEL_ABI::json::detail {

inline bool is_plain(char c) noexcept {
    const auto u = static_cast<unsigned char>(c);
    return u >= 0x20 && u < 0x80 && u != '"' && u != '\\';
}

inline bool is_ascii(char c) noexcept { return static_cast<unsigned char>(c) < 0x80; }

inline std::uint64_t load_8(const char* p) noexcept {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    return word;
}

inline constexpr std::uint64_t every_byte = 0x0101010101010101u;
inline constexpr std::uint64_t high_bits = 0x8080808080808080u;

/// Sets the high bit of each byte that is not plain. Bytes above a marked one may be marked wrongly (because of a
/// borrow), so on little-endian machines only the lowest mark counts.
inline std::uint64_t not_plain_8(std::uint64_t word) noexcept {
    const auto equals = [&](unsigned char c) {
        const std::uint64_t difference = word ^ (every_byte * c);
        return (difference - every_byte) & ~difference;
    };
    return (equals('"') | equals('\\') | ((word - every_byte * 0x20) & ~word) | word) & high_bits;
}

/// The first byte of [p, end) that is not plain, or end.
inline const char* skip_plain_portable(const char* p, const char* end) noexcept {
    for (; end - p >= 8; p += 8) {
        if (const std::uint64_t marks = not_plain_8(load_8(p)); marks != 0) {
            if constexpr (std::endian::native == std::endian::little) return p + std::countr_zero(marks) / 8;
            break;
        }
    }
    // Names are mostly this long: use two overlapping halves instead of a loop.
    if (end - p >= 4 && end - p < 8) {
        std::uint32_t halves[2];
        std::memcpy(&halves[0], p, 4);
        std::memcpy(&halves[1], end - 4, 4);
        if (not_plain_8(halves[0] | std::uint64_t{halves[1]} << 32) == 0) return end;
    }
    while (p != end && is_plain(*p)) ++p;
    return p;
}

/// The first byte of [p, end) that is not ASCII, or end.
inline const char* skip_ascii_portable(const char* p, const char* end) noexcept {
    while (end - p >= 8 && (load_8(p) & high_bits) == 0) p += 8;
    while (p != end && is_ascii(*p)) ++p;
    return p;
}

#if defined(__SSE2__)

/// One bit for each of the 16 bytes that is not plain.
inline unsigned not_plain_16(__m128i bytes) noexcept {
    // Signed comparison: control characters and bytes above ASCII are less than a space.
    const __m128i low = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20));
    const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
    const __m128i backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
    return static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(low, _mm_or_si128(quote, backslash))));
}

inline __m128i load_16(const char* p) noexcept { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }

inline const char* skip_plain(const char* p, const char* end) noexcept {
    if (end - p < 16) return skip_plain_portable(p, end);
    do {
        if (const unsigned marks = not_plain_16(load_16(p)); marks != 0) return p + std::countr_zero(marks);
        p += 16;
    } while (end - p >= 16);
    // Check the rest together with bytes that are known to be plain.
    const unsigned marks = not_plain_16(load_16(end - 16));
    return marks != 0 ? end - 16 + std::countr_zero(marks) : end;
}

inline const char* skip_ascii(const char* p, const char* end) noexcept {
    for (; end - p >= 16; p += 16) {
        const auto marks = static_cast<unsigned>(_mm_movemask_epi8(load_16(p)));
        if (marks != 0) return p + std::countr_zero(marks);
    }
    return skip_ascii_portable(p, end);
}

#else

inline const char* skip_plain(const char* p, const char* end) noexcept { return skip_plain_portable(p, end); }
inline const char* skip_ascii(const char* p, const char* end) noexcept { return skip_ascii_portable(p, end); }

#endif

}  // namespace keel::json::detail
