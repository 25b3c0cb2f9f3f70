#pragma once

// Numbers and enums of any width behind a void pointer.

#include <keel/describe.hpp>

#include <cstring>

namespace keel::inline KEEL_ABI::detail {

/// The bytes of an integer or enum, zero-extended.
inline std::uint64_t load_bits(const type_table& t, const void* from) noexcept {
    switch (t.size) {
        case 1: return *static_cast<const unsigned char*>(from);
        case 2: {
            std::uint16_t n;
            std::memcpy(&n, from, sizeof n);
            return n;
        }
        case 4: {
            std::uint32_t n;
            std::memcpy(&n, from, sizeof n);
            return n;
        }
        default: {
            std::uint64_t n;
            std::memcpy(&n, from, sizeof n);
            return n;
        }
    }
}

inline void store_bits(const type_table& t, void* into, std::uint64_t bits) noexcept {
    switch (t.size) {
        case 1: *static_cast<unsigned char*>(into) = static_cast<unsigned char>(bits); break;
        case 2: {
            const auto n = static_cast<std::uint16_t>(bits);
            std::memcpy(into, &n, sizeof n);
            break;
        }
        case 4: {
            const auto n = static_cast<std::uint32_t>(bits);
            std::memcpy(into, &n, sizeof n);
            break;
        }
        default: std::memcpy(into, &bits, sizeof bits);
    }
}

inline std::int64_t load_signed(const type_table& t, const void* from) noexcept {
    const auto unused = static_cast<unsigned>(64 - 8 * t.size);
    return static_cast<std::int64_t>(load_bits(t, from) << unused) >> unused;
}

/// The range of an integer type.
inline std::uint64_t largest(const type_table& t) noexcept {
    const auto unused = static_cast<unsigned>(64 - 8 * t.size);
    return (~std::uint64_t{0} >> unused) >> (t.is_signed ? 1 : 0);
}
inline std::int64_t smallest(const type_table& t) noexcept {
    return t.is_signed ? -static_cast<std::int64_t>(largest(t)) - 1 : 0;
}

/// The value as the double with the same decimal digits: 0.1f is 0.1, not 0.10000000149011612.
double load_real(const type_table& t, const void* from) noexcept;

/// The nearest float, or nothing if that is infinity.
std::optional<float> to_float(double wide) noexcept;

/// The enumerator of a value, or nullptr.
inline const enum_name* name_of_value(const type_table& t, const void* from) noexcept {
    const enum_table& table = t.names();
    const std::uint64_t bits = load_bits(t, from);
    for (std::size_t i = 0; i < table.count; ++i) {
        if (table.names[i].bits == bits) return &table.names[i];
    }
    return nullptr;
}

}  // namespace keel::detail
