#pragma once

// Rounds of 2026-07-28: a result may ask for input (input_required) instead of completing the request.

#include "client/session_user.hpp"
#include "protocol/messages.hpp"

#include <keel/call.hpp>
#include <keel/json.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::client_side {

class client_environment;
class server_request_handler;

/// Whether a result completes its request (BASE-11, BASE-12). Throws keel::error for an unsupported `resultType`.
bool is_complete(const json::value& result, std::string_view method);

/// Throws keel::error if the result is invalid.
protocol::input_required_result read_input_required(const json::value& result);

/// The members that the next request of a multi-round request adds, as JSON text.
std::string members_for(const std::map<std::string, json::value>& answers, const std::optional<std::string>& state);

/// Answers the input requests of one result with the handlers of the client, and returns the members that the next request adds. `round`
/// counts from 0. On the loop; the client and `handler` must outlive the task.
/// Cancellation: the stop token of the handlers fires, then they are cancelled; throws when they have ended.
task<std::string> answer_input_requests(const client_environment& environment, server_request_handler& handler,
                                        session_ptr s, json::value result, unsigned round);

}  // namespace keel::client_side
