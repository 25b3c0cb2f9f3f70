#pragma once

// Running a coroutine from a program that has no loop of its own.
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

class epoll_loop;

namespace detail {

/// A loop for the thread that made it, until it is destroyed.
class KEEL_API loop_of_thread {
public:
    /// Throws std::logic_error on a thread that has one already.
    loop_of_thread();
    loop_of_thread(const loop_of_thread&) = delete;
    loop_of_thread& operator=(const loop_of_thread&) = delete;
    /// What is still queued is dropped.
    ~loop_of_thread();

    keel::loop& loop() noexcept;
    /// Works until stop is called. What throws in here ends the program, as on any loop: nobody could go on with the task.
    void work() noexcept;
    void stop() noexcept;

private:
    std::shared_ptr<epoll_loop> loop_;  // threads that post to it may end later
};

}  // namespace detail

/// Runs a task on a loop of this thread, and returns its value, or throws what it threw. The loop is there for this task alone
/// and ends with it. Clients that the task makes or uses work as anywhere, on threads of their own.
///
/// Within a task that is run like this it throws std::logic_error: the outer one would stand still. There, co_await.
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
