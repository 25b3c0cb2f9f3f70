#pragma once

// Handlers and middleware that run as coroutines.

#include "server/call_state.hpp"
#include "server/invocation.hpp"

#include <keel/task.hpp>

#include <memory>
#include <string>

namespace keel::inline KEEL_ABI::server_side {

/// Reads the answers in a request that may ask the client (2026-07-28). Does nothing for other requests. Throws keel::error if
/// `requestState` or `inputResponses` is invalid.
void prepare_questions(const std::shared_ptr<detail::call_state>& call, const json::value& params);

/// Runs a coroutine handler and returns the text of its result. `found.made` is its input. Keeps the registry entry alive.
task<std::string> run_coroutine(std::shared_ptr<detail::call_state> call, invocation found);

/// Turns the exceptions of `work` into the outcome of the request: returns a tool-level error (`isError`) or the questions to the
/// client, and throws keel::error for a protocol error.
/// Cancellation: the exception of `work` passes through.
task<std::string> settle(std::shared_ptr<detail::call_state> call, task<std::string> work);

}  // namespace keel::server_side
