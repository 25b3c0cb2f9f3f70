#pragma once

// Which redirects are followed, and where to.

#include "http_client/transfer.hpp"
#include "protocol/url_parts.hpp"

#include <optional>
#include <string_view>

namespace keel::inline KEEL_ABI::http_client {

/// 307 and 308 for any method; 301, 302 and 303 for GET only, because they change other methods to GET.
bool may_follow(int status, std::string_view method) noexcept;

/// Resolves `location` for a request to `from`. Returns nullopt if the redirect must not be followed: another host, from https to http,
/// another port of the same scheme, or an invalid URL. The result has no user and password.
std::optional<protocol::url_parts> redirect_target(const protocol::url_parts& from, std::string_view location);

/// Removes Authorization, Cookie and Proxy-Authorization. Returns true if there was any.
bool drop_credentials(header_list& headers);

}  // namespace keel::http_client
