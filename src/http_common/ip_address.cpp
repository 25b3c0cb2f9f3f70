#include "http_common/ip_address.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <stdexcept>

namespace keel::inline KEEL_ABI::http {

namespace {

constexpr unsigned mapped_bits = 96;  // of ::ffff:0:0/96

bool is_mapped(const std::array<std::uint8_t, 16>& bytes) noexcept {
    return std::all_of(bytes.begin(), bytes.begin() + 10, [](std::uint8_t b) { return b == 0; }) && bytes[10] == 0xff &&
           bytes[11] == 0xff;
}

}  // namespace

std::optional<ip_address> ip_address::parse(std::string_view text) noexcept {
    char terminated[std::tuple_size_v<text_buffer>] = {};
    if (text.empty() || text.size() >= sizeof terminated || text.find('\0') != text.npos) return std::nullopt;
    std::memcpy(terminated, text.data(), text.size());
    ip_address out;
    if (::inet_pton(AF_INET, terminated, out.bytes_.data()) == 1) {
        out.size_ = 4;
        return out;
    }
    if (::inet_pton(AF_INET6, terminated, out.bytes_.data()) != 1) return std::nullopt;
    out.size_ = 16;
    if (is_mapped(out.bytes_)) {
        std::copy(out.bytes_.begin() + 12, out.bytes_.end(), out.bytes_.begin());
        std::fill(out.bytes_.begin() + 4, out.bytes_.end(), std::uint8_t{0});
        out.size_ = 4;
    }
    return out;
}

ip_address ip_address::prefix(unsigned bits) const noexcept {
    ip_address out = *this;
    for (unsigned i = 0; i < out.bytes_.size(); ++i) {
        const unsigned kept = bits > i * 8 ? std::min(bits - i * 8, 8U) : 0;
        out.bytes_[i] &= static_cast<std::uint8_t>(0xff00U >> kept);
    }
    return out;
}

bool ip_address::same_prefix(const ip_address& other, unsigned bits) const noexcept {
    return prefix(bits) == other.prefix(bits);
}

std::string_view ip_address::text_in(text_buffer& out) const noexcept {
    if (!present()) return {};
    const char* written =
        ::inet_ntop(is_v4() ? AF_INET : AF_INET6, bytes_.data(), out.data(), static_cast<socklen_t>(out.size()));
    return written ? std::string_view(written) : std::string_view();
}

std::string ip_address::text() const {
    text_buffer buffer;
    return std::string(text_in(buffer));
}

ip_network ip_network::parse(std::string_view text) {
    auto refuse = [&](const std::string& why) {
        return std::invalid_argument("invalid network \"" + std::string(text) + "\": " + why);
    };
    const std::size_t slash = std::min(text.find('/'), text.size());
    const std::string_view host = text.substr(0, slash);
    const auto address = ip_address::parse(host);
    if (!address) throw refuse("expected an IP address or ADDRESS/BITS, as in 10.0.0.0/8 or 2001:db8::/32");
    ip_network out;
    out.first_ = *address;
    out.bits_ = address->bits();
    if (slash == text.size()) return out;
    const bool mapped = address->is_v4() && host.find(':') != host.npos;
    const unsigned before = mapped ? mapped_bits : 0;
    unsigned bits = 0;
    const char* end = text.data() + text.size();
    auto [rest, error] = std::from_chars(text.data() + slash + 1, end, bits);
    if (error != std::errc() || rest != end || bits < before || bits - before > address->bits()) {
        throw refuse("the number after '/' must be from " + std::to_string(before) + " to " +
                     std::to_string(before + address->bits()));
    }
    out.bits_ = bits - before;
    if (const ip_address start = address->prefix(out.bits_); start != *address) {
        throw refuse("the address has bits after the prefix; did you mean " + start.text() + "/" +
                     std::to_string(out.bits_) + "?");
    }
    return out;
}

bool ip_network::contains(const ip_address& a) const noexcept {
    return a.bits() == first_.bits() && a.same_prefix(first_, bits_);
}

}  // namespace keel::http
