#pragma once

// The loop and the thread of a client that was created without a loop.

#include <keel/loop.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <thread>

namespace keel::inline KEEL_ABI {
namespace async {
class epoll_loop;
}

namespace client_side {

/// Owned by detail::client_engine. Counts the running calls, so that the loop is stopped only after they have ended.
class loop_thread {
public:
    /// Counts a call for as long as it exists. On the loop; the loop_thread must outlive it.
    class running_call {
    public:
        explicit running_call(loop_thread& on) noexcept : on_(on) { ++on_.calls_; }
        running_call(const running_call&) = delete;
        running_call& operator=(const running_call&) = delete;
        ~running_call() { on_.call_ended(); }

    private:
        loop_thread& on_;
    };

    loop_thread() = default;
    loop_thread(const loop_thread&) = delete;
    loop_thread& operator=(const loop_thread&) = delete;

    /// Called once, before any other thread uses the client.
    void start(std::shared_ptr<async::epoll_loop> own);
    /// Safe to call from any thread.
    bool started() const noexcept { return loop_ != nullptr; }
    /// Stops the loop when no call is running, at the latest after `grace`. On the loop.
    void stop_when_idle(duration grace);
    /// Waits until the thread has ended. On that thread itself, returns immediately: the thread ends on its own.
    void join();

private:
    void call_ended();

    std::shared_ptr<async::epoll_loop> loop_;
    std::thread thread_;
    // Used on the loop only:
    std::size_t calls_ = 0;
    std::function<void()> when_idle_;
};

}  // namespace client_side
}  // namespace keel
