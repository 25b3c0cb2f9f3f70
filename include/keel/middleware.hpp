#pragma once

// Code around every request but initialize: to see and change what comes in and goes out, to measure, to refuse.
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

/// A request on its way to its handler. `params` may be changed before it goes on.
struct KEEL_API request_call {
    context ctx;
    const std::string method;
    json::value params;
};

/// The rest of the way: the next middleware, and at last the handler. Gives the result as it goes to the client, or throws
/// keel::error. Called at most once.
using next_handler = std::function<task<json::value>(request_call&)>;

/// Runs on the loop of its connection and must not block. What it throws is what the client is answered, as for any handler.
using middleware = std::function<task<json::value>(request_call&, next_handler)>;

namespace detail {

/// What a start hook has made.
struct KEEL_API started_state {
    type_key type = nullptr;
    std::shared_ptr<void> object = {};
};

}  // namespace detail

}  // namespace keel
