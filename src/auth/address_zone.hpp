#pragma once

// Which addresses an OAuth request may connect to (SEC-01, SEC-08). A hostile server can name any URL as its metadata or its
// authorization server; without this check the client would send requests into the network that it runs in.

#include "http_common/ip_address.hpp"

#include <string_view>

namespace keel::inline KEEL_ABI::auth {

/// Ordered from the most to the least public.
enum class address_zone : unsigned char {
    open,       // the public internet
    private_,   // 10/8, 172.16/12, 192.168/16, 100.64/10, fc00::/7
    loopback,   // 127/8, ::1
    forbidden,  // link-local (the metadata service of clouds), unspecified, multicast, reserved
};

std::string_view name_of(address_zone) noexcept;

/// The zone of an address in binary form, so that its notation does not matter. An IPv6 address that contains an IPv4 address (mapped,
/// NAT64, 6to4, compatible) is in the zone of that address.
address_zone zone_of(const http::ip_address&) noexcept;

/// A URL that belongs to a server in zone `from` may lead to the same zone or a more public one, never to a forbidden one.
constexpr bool may_connect(address_zone from, address_zone to) noexcept {
    return to != address_zone::forbidden && to <= from;
}

}  // namespace keel::auth
