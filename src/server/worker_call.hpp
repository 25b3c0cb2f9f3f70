#pragma once

// A plain function that may block, run on a worker thread.

#include "server/invocation.hpp"

#include <keel/context.hpp>
#include <keel/task.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

namespace keel::inline KEEL_ABI::server_side {

/// A call that waits for a thread. It may wait for long, behind handlers that never end: when it is cancelled it gives
/// back what the peer made us keep.
class worker_call {
public:
    worker_call(context ctx, const std::shared_ptr<rpc::request>& request, invocation call, const incoming& in,
                std::shared_ptr<server_core> server);

    /// On the worker. Silent when the call was cancelled before it could start (B1).
    rpc::handler_outcome run();
    server_core& server() const noexcept { return *server_; }

private:
    std::optional<json::value> take_input();

    context context_;
    const std::shared_ptr<rpc::request> request_;
    const invocation call_;
    const protocol::method which_;
    const std::string name_;
    const protocol::revision revision_;
    const std::shared_ptr<server_core> server_;
    std::mutex mutex_;  // the worker that begins and the loop that cancels meet here
    std::optional<json::value> input_;
    std::stop_callback<std::function<void()>> drop_;  // last: it may be called while we are made
};

/// `done` is called exactly once, on the worker or, when no thread is to be had, at once.
void start_on_worker(std::shared_ptr<worker_call> call, std::function<void(rpc::handler_outcome)> done);

/// Awaits a worker_call: the text of its result. Throws keel::error for a failure, keel::cancelled for silence.
/// Cancellation: reaches the function through its token; it is waited for, since nothing can end it.
class worker_wait final : public detail::wait {
public:
    explicit worker_wait(std::shared_ptr<worker_call> call) noexcept : call_(std::move(call)) {}
    ~worker_wait() = default;

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) {
        if (!begin(h)) return false;
        begin_work();
        return true;
    }
    std::string await_resume();

private:
    void begin_work();
    void interrupt() noexcept override {}

    std::shared_ptr<worker_call> call_;
    rpc::handler_outcome outcome_;
};

}  // namespace keel::server_side
