#pragma once

// The middleware of a server, around one request.

#include "server/call_state.hpp"

#include <keel/middleware.hpp>

#include <functional>
#include <memory>
#include <string>

namespace keel::inline KEEL_ABI::server_side {

/// The innermost step of a chain: serves the request and returns the text of its result.
using chain_end = std::function<task<std::string>(request_call&)>;

/// Passes a request through all middleware to `end`, and returns the text of the result. Must run on the loop of the request.
task<std::string> run_chain(std::shared_ptr<detail::call_state> call, json::value params, chain_end end);

}  // namespace keel::server_side
