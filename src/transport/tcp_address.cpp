#include <keel/transport.hpp>

#include <charconv>
#include <stdexcept>

namespace keel::inline KEEL_ABI {

tcp_address tcp_address::parse(std::string_view text) {
    auto refuse = [&](const char* why) {
        return std::invalid_argument("\"" + std::string(text) + "\" is not HOST:PORT: " + why);
    };
    std::string_view host;
    std::string_view port;
    if (text.starts_with('[')) {
        std::size_t close = text.find(']');
        if (close == text.npos) throw refuse("the bracket is not closed");
        if (close + 1 >= text.size() || text[close + 1] != ':') throw refuse("the port is missing");
        host = text.substr(1, close - 1);
        port = text.substr(close + 2);
    } else {
        std::size_t colon = text.rfind(':');
        if (colon == text.npos) throw refuse("the port is missing");
        host = text.substr(0, colon);
        port = text.substr(colon + 1);
        if (host.find(':') != host.npos) throw refuse("an IPv6 address needs brackets, as in [::1]:80");
    }
    // An empty host would mean every interface to the system: too easily written by mistake.
    if (host.empty()) throw refuse("the host is missing (0.0.0.0 is every interface)");
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
