#include "transport/listen_address.hpp"

#include "transport/sockets.hpp"

#include <charconv>
#include <cstddef>
#include <stdexcept>

namespace keel::inline KEEL_ABI::transport {

namespace {

bool is_option_set(int descriptor, int option, int expected) {
    int value = 0;
    socklen_t size = sizeof value;
    return ::getsockopt(descriptor, SOL_SOCKET, option, &value, &size) == 0 && value == expected;
}

}  // namespace

int inherited_descriptor(std::string_view text) {
    if (!text.starts_with("fd:")) return -1;
    std::string_view digits = text.substr(3);
    int n = -1;
    auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    if (wrong != std::errc() || end != digits.data() + digits.size() || n < 3) {
        throw std::invalid_argument("invalid address \"" + std::string(text) +
                                    "\": the descriptor must be a number from 3 on");
    }
    return n;
}

listen_address listen_address::parse(std::string_view text) {
    if (int n = inherited_descriptor(text); n >= 0) return address_of_listener(n);
    listen_address out;
    if (text.starts_with("unix:")) {
        out.what = kind::unix_socket;
        out.path = text.substr(5);
        unix_address(out.path);  // throws if it is invalid
        return out;
    }
    // A port without a host binds to 127.0.0.1 (HTTP-15).
    std::string_view port = text.substr(text.starts_with(':') ? 1 : 0);
    bool no_host = !port.empty() && port.find_first_not_of("0123456789") == std::string_view::npos;
    out.tcp = tcp_address::parse(no_host ? "127.0.0.1:" + std::string(port) : std::string(text));
    return out;
}

std::string listen_address::text() const { return what == kind::unix_socket ? "unix:" + path : tcp.text(); }

bool listen_address::is_local() const noexcept {
    return what == kind::unix_socket || tcp.host == "localhost" || tcp.host == "::1" || tcp.host.starts_with("127.");
}

listen_address address_of_listener(int descriptor) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (!is_option_set(descriptor, SO_ACCEPTCONN, 1) || !is_option_set(descriptor, SO_TYPE, SOCK_STREAM) ||
        ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        throw std::invalid_argument("descriptor " + std::to_string(descriptor) + " is not a listening stream socket");
    }
    listen_address out;
    out.inherited = descriptor;
    if (address.ss_family == AF_UNIX) {
        out.what = listen_address::kind::unix_socket;
        const auto& local = reinterpret_cast<const sockaddr_un&>(address);
        std::size_t used = size > offsetof(sockaddr_un, sun_path) ? size - offsetof(sockaddr_un, sun_path) : 0;
        out.path = std::string(local.sun_path, used);
        if (out.path.starts_with('\0') && used > 0) out.path[0] = '@';  // an abstract name
        while (out.path.ends_with('\0')) out.path.pop_back();
    } else {
        out.tcp = address_of(address, size);
    }
    return out;
}

}  // namespace keel::transport
