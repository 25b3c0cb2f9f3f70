#pragma once

// Answers requests from the server (sampling, roots, elicitation), sent as JSON-RPC requests or as input requests of 2026-07-28.

#include <keel/json.hpp>
#include <keel/task.hpp>

#include <memory>
#include <stop_token>
#include <string>

namespace keel::inline KEEL_ABI {
namespace async {
class worker_pool;
}

namespace client_side {

class client_environment;
class client_session;
class open_elicitations;
class shared_state;

/// Calls the handlers in the options of the client: coroutines on the loop, plain functions on its own worker threads.
/// Owned by detail::client_engine; used on its loop only. The destructor waits for the worker threads, at most `cleanup_grace`.
class server_request_handler {
public:
    server_request_handler(const client_environment& environment, const shared_state& shared,
                           open_elicitations& elicitations) noexcept;
    ~server_request_handler();
    server_request_handler(const server_request_handler&) = delete;
    server_request_handler& operator=(const server_request_handler&) = delete;

    /// Returns the result. Throws keel::error for an error response. The task keeps the client alive; `to` must outlive it.
    task<json::value> answer(client_session& to, std::string method, json::value params, std::stop_token token);

private:
    async::worker_pool& workers();

    const client_environment& environment_;
    const shared_state& shared_;
    open_elicitations& elicitations_;
    std::unique_ptr<async::worker_pool> workers_;  // created for the first handler
};

}  // namespace client_side
}  // namespace keel
