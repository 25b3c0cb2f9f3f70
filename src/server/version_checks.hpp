#pragma once

// The checks of the protocol version that a message names. All transports use these; HTTP adds the checks of its headers, and the
// status codes.

#include "protocol/revision.hpp"
#include "rpc/message.hpp"

#include <keel/json.hpp>

#include <optional>
#include <string_view>

namespace keel::inline KEEL_ABI::server_side {

/// Returns the `_meta` of a request or notification if it contains a protocol version, otherwise null. These messages are of
/// 2026-07-28; all others belong to a revision with a handshake. `params` may be null.
const json::value* modern_meta(const json::value& params) noexcept;

/// Returns the version in the `_meta` of a request. Empty if the version or the client's capabilities have an invalid type.
std::optional<std::string_view> read_version(const json::value& meta) noexcept;
/// The error for a request for which `read_version` returned nothing.
rpc::failure invalid_meta(const json::value& meta);
/// The error for a request without version where only 2026-07-28 is possible.
rpc::failure missing_version();

/// The versions that a server offers: all, only those without a handshake, or one.
json::value all_versions();
json::value modern_versions();
json::value only_version(protocol::revision r);
/// The error for a version that is unknown, or that this connection cannot use.
rpc::failure unsupported_version(std::string_view requested, json::value supported = all_versions(),
                                 std::string_view message = "unsupported protocol version");

/// The error for a second `initialize` (H17).
rpc::failure already_initialized();

}  // namespace keel::server_side
