#pragma once

// Calls of handlers that may block, on the thread pool.

#include "server/call_state.hpp"
#include "server/invocation.hpp"

#include <keel/task.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

namespace keel::inline KEEL_ABI::server_side {

/// A call that is queued for a worker thread, perhaps for long. If it is cancelled while queued, it frees its input, so that a
/// peer cannot use up memory with cancelled calls.
class worker_call {
public:
    worker_call(std::shared_ptr<detail::call_state> state, invocation call);

    /// Runs on the worker thread. Returns `silent` if the call was cancelled before it started (B1).
    rpc::handler_outcome run();
    server_core& server() const noexcept { return *state_->server; }
    const std::shared_ptr<rpc::request>& request() const noexcept { return state_->request; }

private:
    std::optional<json::value> take_input();

    const std::shared_ptr<detail::call_state> state_;
    const invocation call_;
    std::mutex mutex_;  // guards input_: the worker starts the call while the loop may cancel it
    std::optional<json::value> input_;
    std::stop_callback<std::function<void()>> drop_;  // must be the last member: it may be called during construction
};

/// Calls `done` exactly once: on the worker thread, or at once if no thread is available.
void start_on_worker(std::shared_ptr<worker_call> call, std::function<void(rpc::handler_outcome)> done);

/// Awaits a worker_call and returns the text of its result. Throws keel::error for a failure, keel::cancelled if there is no
/// answer. Cancellation: the function sees it through its stop token; the wait continues until the function returns.
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
