#include "http_client/proxy_choice.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

namespace keel::inline KEEL_ABI::http_client {

namespace {

struct ip_address {
    std::array<unsigned char, 16> bytes{};
    std::size_t size = 0;  // 0: not an IP address
};

ip_address read_ip(const std::string& text) noexcept {
    ip_address out;
    if (::inet_pton(AF_INET, text.c_str(), out.bytes.data()) == 1) out.size = 4;
    else if (::inet_pton(AF_INET6, text.c_str(), out.bytes.data()) == 1) out.size = 16;
    return out;
}

bool read_number(std::string_view text, unsigned& out) noexcept {
    auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && stop == text.data() + text.size();
}

bool in_network(const ip_address& address, const std::string& network, unsigned bits) noexcept {
    const ip_address base = read_ip(network);
    if (base.size == 0 || base.size != address.size || bits > base.size * 8) return false;
    for (std::size_t i = 0; i != base.size && bits > 0; ++i) {
        const unsigned here = std::min(bits, 8u);
        const unsigned mask = (0xffu << (8 - here)) & 0xffu;
        if ((base.bytes[i] & mask) != (address.bytes[i] & mask)) return false;
        bits -= here;
    }
    return true;
}

bool matches(const protocol::url_parts& to, std::string entry) {
    if (entry == "*") return true;
    const ip_address address = read_ip(to.host);
    if (const std::size_t slash = entry.find('/'); slash != entry.npos) {
        unsigned bits = 0;
        return read_number(std::string_view(entry).substr(slash + 1), bits) &&
               in_network(address, entry.substr(0, slash), bits);
    }
    // A single colon separates a port; an IPv6 address has more.
    std::string_view port;
    if (entry.starts_with('[')) {
        const std::size_t close = entry.find(']');
        if (close == entry.npos) return false;
        const std::string rest = entry.substr(close + 1);
        entry = entry.substr(1, close - 1);
        unsigned number = 0;
        if (!rest.empty() &&
            (rest.front() != ':' || !read_number(std::string_view(rest).substr(1), number) || number != to.port)) {
            return false;
        }
    } else if (std::count(entry.begin(), entry.end(), ':') == 1) {
        const std::size_t colon = entry.find(':');
        port = std::string_view(entry).substr(colon + 1);
        unsigned number = 0;
        if (!read_number(port, number) || number != to.port) return false;
        entry.resize(colon);
    }
    if (address.size != 0) {
        const ip_address other = read_ip(entry);
        return other.size == address.size && other.bytes == address.bytes;
    }
    std::string_view name = entry;
    if (name.starts_with("*.")) name.remove_prefix(2);
    else if (name.starts_with('.')) name.remove_prefix(1);
    std::string_view host = to.host;
    if (name.ends_with('.')) name.remove_suffix(1);
    if (host.ends_with('.')) host.remove_suffix(1);
    if (name.empty() || !host.ends_with(name)) return false;
    return host.size() == name.size() || host[host.size() - name.size() - 1] == '.';
}

}  // namespace

proxy_address proxy_address::parse(std::string_view text) {
    const auto refuse = [&](const std::string& why) {
        return std::invalid_argument("invalid proxy \"" + protocol::without_secrets(text) + "\": " + why);
    };
    const std::size_t colon = text.find("://");
    const std::string scheme = colon == text.npos ? "http" : protocol::to_lower(text.substr(0, colon));
    if (scheme.starts_with("socks")) throw refuse("SOCKS is not supported, only http://host:port");
    if (scheme != "http") throw refuse("only http://host:port is supported");
    protocol::url_parts parts;
    try {
        parts = protocol::url_parts::parse(colon == text.npos ? "http://" + std::string(text) : std::string(text));
    } catch (const std::invalid_argument& e) {
        throw std::invalid_argument(std::string("invalid proxy: ") + e.what());
    }
    return {.at = {parts.host, parts.port}, .authorization = parts.authorization};
}

bool is_exempt(const protocol::url_parts& to, std::string_view no_proxy) {
    while (!no_proxy.empty()) {
        const std::size_t end = std::min(no_proxy.find_first_of(", \t"), no_proxy.size());
        if (end > 0 && matches(to, protocol::to_lower(no_proxy.substr(0, end)))) return true;
        no_proxy.remove_prefix(std::min(end + 1, no_proxy.size()));
    }
    return false;
}

std::optional<proxy_address> choose_proxy(const protocol::url_parts& to, const std::optional<std::string>& said,
                                          const environment& env) {
    if (said) return said->empty() ? std::nullopt : std::optional(proxy_address::parse(*said));
    if (to.is_loopback()) return std::nullopt;
    const auto first_of = [&](std::initializer_list<const char*> names) -> std::optional<std::string> {
        for (const char* name : names) {
            if (auto value = env(name); value && !value->empty()) return value;
        }
        return std::nullopt;
    };
    const std::optional<std::string> found = to.secure
                                                 ? first_of({"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"})
                                                 : first_of({"http_proxy", "all_proxy", "ALL_PROXY"});
    if (!found) return std::nullopt;
    if (auto exempt = first_of({"no_proxy", "NO_PROXY"}); exempt && is_exempt(to, *exempt)) return std::nullopt;
    return proxy_address::parse(*found);
}

}  // namespace keel::http_client
