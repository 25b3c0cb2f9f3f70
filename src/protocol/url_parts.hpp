#pragma once

// Parses and validates http and https URLs.

#include <keel/version.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::protocol {

struct url_parts {
    bool secure = false;
    std::string host;  // in lower case; IPv6 addresses without brackets
    std::uint16_t port = 80;
    std::string target = "/";   // path and query
    std::string authorization;  // header value from the user and password in the URL; "" if it has none

    /// Throws std::invalid_argument with the reason. The message contains no password.
    static url_parts parse(std::string_view text);

    /// "example.com", "[::1]:8848": without the default port.
    std::string authority() const;
    /// "example.com:443": always with the port, for CONNECT.
    std::string authority_with_port() const;
    /// "https://example.com".
    std::string origin() const;
    bool same_origin(const url_parts& other) const noexcept {
        return secure == other.secure && port == other.port && host == other.host;
    }
    bool is_loopback() const noexcept;
};

/// True for visible ASCII only, as required in a request line.
bool is_request_target(std::string_view text) noexcept;

/// "Basic …" from the percent-encoded user info of a URL. Throws std::invalid_argument for control characters.
std::string basic_authorization(std::string_view user_info);

/// The URL without user and password, for messages.
std::string without_user_info(std::string_view url);
/// The same for an invalid URL. A password with '/' looks like a path, so everything before the last '@' is removed.
std::string without_secrets(std::string_view bad_url);

std::string to_lower(std::string_view text);

}  // namespace keel::protocol
