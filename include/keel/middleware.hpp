#pragma once

// Middleware: functions that wrap every request except initialize, to inspect, change, measure or reject it.
//
//     server.use([](keel::request_call& call, keel::next_handler next) -> keel::task<keel::json::value> {
//         if (call.method == "tools/call" && !allowed(call.ctx)) throw keel::error(1403, "not allowed");
//         keel::json::value result = co_await next(call);
//         co_return result;
//     });

#include <keel/context.hpp>
#include <keel/json.hpp>
#include <keel/task.hpp>

#include <functional>
#include <memory>
#include <string>

namespace keel::inline KEEL_ABI {

/// A request before its handler runs. Middleware may change `params`.
struct KEEL_API request_call {
    context ctx;
    const std::string method;
    json::value params;
};

/// Calls the next middleware or finally the handler. Returns the result as it is sent to the client, or throws keel::error. Call it
/// at most once.
using next_handler = std::function<task<json::value>(request_call&)>;

/// Runs on the loop of the connection and must not block. Exceptions are answered like those of a handler.
using middleware = std::function<task<json::value>(request_call&, next_handler)>;

namespace detail {

/// The state that an on_start hook returned.
struct KEEL_API started_state {
    type_key type = nullptr;
    std::shared_ptr<void> object = {};
};

}  // namespace detail

}  // namespace keel
