#include "auth/address_zone.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace keel::inline KEEL_ABI::auth {

namespace {

using bytes16 = std::array<std::uint8_t, 16>;

struct network {
    bytes16 first;
    unsigned bits;
    address_zone zone;
};

// RFC 6890 and its registry. Everything that is not listed is public.
constexpr network v4_networks[] = {
    {{0}, 8, address_zone::forbidden},              // "this" network; Linux connects 0.0.0.0 to itself
    {{10}, 8, address_zone::private_},              //
    {{100, 64}, 10, address_zone::private_},        // carrier-grade NAT
    {{127}, 8, address_zone::loopback},             //
    {{169, 254}, 16, address_zone::forbidden},      // link-local
    {{172, 16}, 12, address_zone::private_},        //
    {{192, 0, 0}, 24, address_zone::forbidden},     // protocol assignments
    {{192, 0, 2}, 24, address_zone::forbidden},     // documentation
    {{192, 88, 99}, 24, address_zone::forbidden},   // 6to4 relays
    {{192, 168}, 16, address_zone::private_},       //
    {{198, 18}, 15, address_zone::forbidden},       // benchmarks
    {{198, 51, 100}, 24, address_zone::forbidden},  // documentation
    {{203, 0, 113}, 24, address_zone::forbidden},   // documentation
    {{224}, 3, address_zone::forbidden},            // multicast, reserved, broadcast
};
constexpr network v6_networks[] = {
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128, address_zone::loopback},
    {{0}, 96, address_zone::forbidden},                       // unspecified, IPv4-compatible
    {{0x01, 0x00}, 64, address_zone::forbidden},              // discard
    {{0x20, 0x01, 0x00, 0x00}, 23, address_zone::forbidden},  // protocol assignments, Teredo
    {{0x20, 0x01, 0x0d, 0xb8}, 32, address_zone::forbidden},  // documentation
    {{0x3f, 0xff}, 20, address_zone::forbidden},              // documentation
    {{0x5f, 0x00}, 16, address_zone::forbidden},              // segment routing
    {{0xfc}, 7, address_zone::private_},                      // unique local
    {{0xfe, 0x80}, 10, address_zone::forbidden},              // link-local
    {{0xfe, 0xc0}, 10, address_zone::private_},               // site-local, deprecated
    {{0xff}, 8, address_zone::forbidden},                     // multicast
};

bool is_in(const bytes16& address, const bytes16& first, unsigned bits) noexcept {
    for (unsigned i = 0; bits != 0; ++i) {
        const unsigned here = bits < 8 ? bits : 8;
        const auto mask = static_cast<std::uint8_t>(0xff00U >> here);
        if ((address[i] & mask) != (first[i] & mask)) return false;
        bits -= here;
    }
    return true;
}

template <std::size_t N>
address_zone find(const network (&list)[N], const bytes16& address) noexcept {
    for (const network& each : list) {
        if (is_in(address, each.first, each.bits)) return each.zone;
    }
    return address_zone::open;
}

bytes16 four_at(const bytes16& address, std::size_t at) noexcept {
    return {address[at], address[at + 1], address[at + 2], address[at + 3]};
}

/// The IPv4 address inside an IPv6 address. (Mapped addresses are IPv4 addresses already, see ip_address.)
std::optional<bytes16> embedded(const bytes16& a) noexcept {
    constexpr bytes16 nat64 = {0x00, 0x64, 0xff, 0x9b};  // 64:ff9b::/96
    constexpr bytes16 local_nat64 = {0x00, 0x64, 0xff,
                                     0x9b, 0,    1};  // 64:ff9b:1::/48, the address in the last four bytes
    constexpr bytes16 six_to_four = {0x20, 0x02};     // 2002::/16
    if (is_in(a, nat64, 96) || is_in(a, local_nat64, 48)) return four_at(a, 12);
    if (is_in(a, six_to_four, 16)) return four_at(a, 2);
    const bool compatible = is_in(a, {}, 96) && (a[12] != 0 || a[13] != 0);
    if (compatible) return four_at(a, 12);
    return std::nullopt;
}

}  // namespace

std::string_view name_of(address_zone z) noexcept {
    switch (z) {
        case address_zone::open: return "public";
        case address_zone::private_: return "private";
        case address_zone::loopback: return "loopback";
        case address_zone::forbidden: break;
    }
    return "forbidden";
}

address_zone zone_of(const http::ip_address& address) noexcept {
    if (!address.present()) return address_zone::forbidden;
    if (address.is_v4()) return find(v4_networks, address.bytes());
    if (const auto inner = embedded(address.bytes())) return find(v4_networks, *inner);
    return find(v6_networks, address.bytes());
}

}  // namespace keel::auth
