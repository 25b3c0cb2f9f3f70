#include <keel/transport.hpp>

#include <arpa/inet.h>

#include <charconv>
#include <stdexcept>

namespace keel::inline KEEL_ABI {

namespace {

/// False for text that can only be a mistyped IP address. Names are not resolved.
bool is_address_or_name(std::string_view host, bool brackets) {
    if (brackets) {
        in6_addr address{};
        return ::inet_pton(AF_INET6, std::string(host.substr(0, host.find('%'))).c_str(), &address) == 1;
    }
    if (host.find_first_not_of("0123456789.") != host.npos) return true;
    in_addr address{};
    return ::inet_aton(std::string(host).c_str(), &address) == 1;
}

}  // namespace

tcp_address tcp_address::parse(std::string_view text) {
    auto refuse = [&](const char* why) {
        return std::invalid_argument("invalid address \"" + std::string(text) + "\": " + why + "; expected HOST:PORT");
    };
    std::string_view host;
    std::string_view port;
    if (text.starts_with('[')) {
        std::size_t close = text.find(']');
        if (close == text.npos) throw refuse("missing ]");
        if (close + 1 >= text.size() || text[close + 1] != ':') throw refuse("missing port");
        host = text.substr(1, close - 1);
        port = text.substr(close + 2);
    } else {
        std::size_t colon = text.rfind(':');
        if (colon == text.npos) throw refuse("missing port");
        host = text.substr(0, colon);
        port = text.substr(colon + 1);
        if (host.find(':') != host.npos) throw refuse("an IPv6 address requires brackets, as in [::1]:80");
    }
    // The system treats an empty host as all interfaces, which is too dangerous for a typing error.
    if (host.empty()) throw refuse("missing host (use 0.0.0.0 for all interfaces)");
    if (!is_address_or_name(host, text.starts_with('['))) throw refuse("invalid IP address");
    unsigned number = 0;
    auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (error != std::errc() || end != port.data() + port.size() || number > 65535) {
        throw refuse("the port must be a number from 0 to 65535");
    }
    return {std::string(host), static_cast<std::uint16_t>(number)};
}

std::string tcp_address::text() const {
    std::string shown = host.find(':') != host.npos ? "[" + host + "]" : host;
    return shown + ":" + std::to_string(port);
}

}  // namespace keel
