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

/// A response that is none of 2xx: the error in its body, if that is a JSON-RPC error for this call or for none; else the
/// status and the beginning of the body. The document is one to read with.
rpc::call_outcome refused_call(int status, std::string_view body, rpc::serial call, json::document& reader);
/// "HTTP 404 Not Found: no such page", printable.
std::string describe_refusal(int status, std::string_view body);

rpc::call_outcome failed_transfer(transfer_failure what, std::string_view why);

/// The call a response is for: our number, or the canonical text of it, which some servers send back. 0: none of ours.
rpc::serial call_of(const rpc::request_id& id) noexcept;

/// When to take up a stream again.
class reconnect_backoff {
public:
    /// How often in a row it may bring nothing.
    static constexpr unsigned patience = 5;

    /// Something new came.
    void heard() noexcept { fruitless_ = 0; }
    bool exhausted() const noexcept { return fruitless_ >= patience; }
    /// One more attempt: not before this time has passed. LHTTP-07: never less than what the server asks for.
    duration next(std::optional<std::chrono::milliseconds> asked) noexcept;

private:
    unsigned fruitless_ = 0;
    unsigned quick_ = 0;  // very short pauses in a row
};

}  // namespace keel::http_client
