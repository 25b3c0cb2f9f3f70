#pragma once

// The parts of an http or https URL, checked.

#include <keel/version.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http_client {

struct url_parts {
    bool secure = false;
    std::string host;  // in lower case; an IPv6 address without its brackets
    std::uint16_t port = 80;
    std::string target = "/";   // path and query
    std::string authorization;  // the value of the header, from the user and password in the URL; "" when it has none

    /// Throws std::invalid_argument with a sentence naming what is wrong. The sentence shows no password.
    static url_parts parse(std::string_view text);

    /// "example.com", "[::1]:8848": without the port that is the usual one.
    std::string authority() const;
    /// "example.com:443": with the port in any case, as CONNECT wants it.
    std::string authority_with_port() const;
    /// "https://example.com".
    std::string origin() const;
    bool same_origin(const url_parts& other) const noexcept {
        return secure == other.secure && port == other.port && host == other.host;
    }
    bool is_loopback() const noexcept;
};

/// Visible ASCII only: what may stand in the first line of a request.
bool is_request_target(std::string_view text) noexcept;

/// "Basic …", of what stands before the '@' of a URL, with its escapes. Throws std::invalid_argument for control characters.
std::string basic_authorization(std::string_view user_info);

/// The URL for people: without the user and password.
std::string without_user_info(std::string_view url);
/// The same for what is no URL. A password with a '/' in it looks like a path: everything before the last '@' is left out.
std::string without_secrets(std::string_view bad_url);

std::string to_lower(std::string_view text);

}  // namespace keel::http_client
