#pragma once

// Which redirections are followed, and where to.

#include "http_client/transfer.hpp"
#include "http_client/url_parts.hpp"

#include <optional>
#include <string_view>

namespace keel::inline KEEL_ABI::http_client {

/// 307 and 308 for any method; 301, 302 and 303 for GET only, because they turn anything else into one.
bool may_follow(int status, std::string_view method) noexcept;

/// Where `location` leads from a request to `from`; nothing when that is not for us to go: another host, from https to http,
/// another port of the same scheme, or no URL at all. It has no user and no password.
std::optional<url_parts> redirect_target(const url_parts& from, std::string_view location);

/// Takes out what is for one origin only: Authorization, Cookie, Proxy-Authorization. True when there was any.
bool drop_credentials(header_list& headers);

}  // namespace keel::http_client
