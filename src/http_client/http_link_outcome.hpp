#pragma once

// What an HTTP response means for the request it answers. No I/O.

#include "http_client/transfer.hpp"
#include "rpc/peer_core.hpp"

#include <keel/json.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http_client {

rpc::call_outcome failed_call(error_kind kind, std::string why, int http_status = 0);

/// The outcome of a response other than 2xx: the JSON-RPC error in its body, if it is for this call or has no id; else the status and
/// the beginning of the body. `reader` is used for parsing.
rpc::call_outcome refused_call(int status, std::string_view body, rpc::serial call, json::document& reader);
/// "HTTP 404 Not Found: no such page", printable.
std::string describe_refusal(int status, std::string_view body);

rpc::call_outcome failed_transfer(transfer_failure what, std::string_view why);

/// The call that a response belongs to: the id as a number, or as text, which some servers send back. 0: unknown.
rpc::serial call_of(const rpc::request_id& id) noexcept;

/// Computes the delay before a stream is resumed.
class reconnect_backoff {
public:
    /// Maximum number of consecutive attempts without an event.
    static constexpr unsigned max_attempts = 5;

    /// An event arrived.
    void event_received() noexcept { fruitless_ = 0; }
    bool exhausted() const noexcept { return fruitless_ >= max_attempts; }
    /// The delay before the next attempt. LHTTP-07: never less than the `retry` time of the server.
    duration next(std::optional<std::chrono::milliseconds> asked) noexcept;

private:
    unsigned fruitless_ = 0;
    unsigned quick_ = 0;  // very short pauses in a row
};

}  // namespace keel::http_client
