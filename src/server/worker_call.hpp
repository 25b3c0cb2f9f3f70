#pragma once

// Calls of handlers that may block, on the thread pool or on an executor of the program (run_on).

#include "server/call_state.hpp"
#include "server/invocation.hpp"

#include <keel/task.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

namespace keel::inline KEEL_ABI::server_side {

/// A call that is queued for a worker thread, perhaps for long. If it is cancelled while queued, it ends at once and frees its input,
/// so that a peer cannot use up memory with cancelled calls. Its thread may be blocked, for example in server::stop.
class worker_call : public std::enable_shared_from_this<worker_call> {
public:
    using done_function = std::function<void(rpc::handler_outcome)>;

    worker_call(std::shared_ptr<detail::call_state> state, invocation call);

    /// Queues the call. `done` is called exactly once: on the worker thread, on the loop if the call is cancelled before it starts, or at
    /// once if no thread is available. Must be called on the loop, once.
    void start(done_function done);

    server_core& server() const noexcept { return *state_->server; }
    const std::shared_ptr<rpc::request>& request() const noexcept { return state_->request; }

private:
    class job;

    /// Runs on the worker thread. Returns `silent` if the call was cancelled before it started (B1).
    rpc::handler_outcome run();
    /// Calls `done` unless it was called. Safe to call from any thread.
    void tell(rpc::handler_outcome outcome);
    void start_on_pool();
    void start_on(const handler_executor& executor);
    std::optional<json::value> take_input();
    void on_stop();

    const std::shared_ptr<detail::call_state> state_;
    const invocation call_;
    std::mutex mutex_;  // guards input_: the worker starts the call while the loop may cancel it
    std::optional<json::value> input_;
    bool queued_ = false;  // used on the loop only
    std::atomic<bool> told_{false};
    done_function done_;                              // used by whoever sets told_
    std::stop_callback<std::function<void()>> drop_;  // must be the last member: it may be called during construction
};

/// Awaits a worker_call and returns the text of its result. Throws keel::error for a failure, keel::cancelled if there is no
/// answer. Cancellation: the function sees it through its stop token; the wait continues until the function returns, or ends if the
/// function has not started.
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
