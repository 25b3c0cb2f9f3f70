#pragma once

// Chooses the HTTP proxy for a server, if any.

#include "protocol/url_parts.hpp"

#include <keel/transport.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http_client {

struct proxy_address {
    tcp_address at;
    std::string authorization;  // the value of Proxy-Authorization; "" for none

    /// "http://[user:password@]host[:port]", or without "http://". Throws std::invalid_argument, without the password.
    static proxy_address parse(std::string_view text);
};

using environment = std::function<std::optional<std::string>(const char*)>;

/// `said` takes precedence ("": no proxy). Otherwise the environment is used, as curl does: http_proxy (in lower case only: under CGI,
/// HTTP_PROXY contains the request header Proxy), https_proxy, all_proxy, no_proxy. Loopback addresses never use a proxy of the
/// environment. Throws std::invalid_argument for an unsupported proxy.
std::optional<proxy_address> choose_proxy(const protocol::url_parts& to, const std::optional<std::string>& said,
                                          const environment& env);

/// True if no_proxy contains it: "*", "example.com" and ".example.com" (both include subdomains), "host:port",
/// addresses and networks as "10.0.0.0/8".
bool is_exempt(const protocol::url_parts& to, std::string_view no_proxy);

}  // namespace keel::http_client
