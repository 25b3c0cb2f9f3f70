#pragma once

// Runs a coroutine from a program without an event loop.
//
//     keel::task<double> sum() {
//         keel::client client(keel::child_process{.command = "./calculator"});
//         co_await client.connect();
//         co_return co_await client.call_tool<double>("add", numbers);
//     }
//
//     int main() { std::printf("%g\n", keel::run(sum())); }

#include <keel/loop.hpp>
#include <keel/task.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace keel::inline KEEL_ABI {

namespace async {
class epoll_loop;  // src/async/epoll_loop.hpp
}

namespace detail {

/// A loop on the current thread.
class KEEL_API loop_of_thread {
public:
    /// Throws std::logic_error if this thread already has one.
    loop_of_thread();
    loop_of_thread(const loop_of_thread&) = delete;
    loop_of_thread& operator=(const loop_of_thread&) = delete;
    /// Queued work is destroyed without running.
    ~loop_of_thread();

    keel::loop& loop() noexcept;
    /// Runs the loop until stop() is called. Exceptions thrown by posted work terminate the process.
    void work() noexcept;
    void stop() noexcept;

private:
    std::shared_ptr<async::epoll_loop> loop_;  // shared with threads that post to it and may end later
};

}  // namespace detail

/// Runs a task on a new loop of this thread and blocks until it has ended. Returns its result, or rethrows its exception. Clients
/// that the task creates run on their own threads as usual.
///
/// Throws std::logic_error if called within a task that run() is running: use co_await there.
template <class T>
T run(task<T> work) {
    detail::loop_of_thread here;
    std::optional<detail::outcome<T>> result;
    detail::activity line(here.loop());
    here.loop().post([&] {
        detail::start(line, std::move(work), [&](detail::outcome<T> o) {
            result.emplace(std::move(o));
            here.stop();
        });
    });
    here.work();
    return detail::value_of<T>(std::move(*result));
}

}  // namespace keel
