#pragma once

// IP addresses and networks as values. No I/O and no name lookups.

#include <keel/version.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http {

/// An IPv4 or IPv6 address, or none. An IPv4-mapped IPv6 address (::ffff:192.0.2.1) is the IPv4 address.
class ip_address {
public:
    using text_buffer = std::array<char, 46>;  // INET6_ADDRSTRLEN

    ip_address() = default;
    /// Numeric text without port, brackets and zone. nullopt if it is not an address.
    static std::optional<ip_address> parse(std::string_view text) noexcept;

    bool present() const noexcept { return size_ > 0; }
    bool is_v4() const noexcept { return size_ == 4; }
    /// Number of bits: 32 or 128; 0 for none.
    unsigned bits() const noexcept { return size_ * 8U; }
    /// True if the first `bits` bits of both are the same. Both must be of the same kind.
    bool same_prefix(const ip_address& other, unsigned bits) const noexcept;
    /// The address with all bits after the first `bits` cleared.
    ip_address prefix(unsigned bits) const noexcept;
    /// Network byte order; bytes after the address are 0.
    const std::array<std::uint8_t, 16>& bytes() const noexcept { return bytes_; }

    /// Writes to `out`; the result is a view of it. "" for none.
    std::string_view text_in(text_buffer& out) const noexcept;
    std::string text() const;

    friend bool operator==(const ip_address&, const ip_address&) = default;

private:
    std::array<std::uint8_t, 16> bytes_{};
    std::uint8_t size_ = 0;  // 4, 16 or 0
};

/// All addresses with the same first bits.
class ip_network {
public:
    /// "10.0.0.0/8", "2001:db8::/32", or an address. Throws std::invalid_argument.
    static ip_network parse(std::string_view text);
    bool contains(const ip_address& a) const noexcept;

private:
    ip_address first_;
    unsigned bits_ = 0;
};

}  // namespace keel::http
