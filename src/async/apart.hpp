#pragma once

// A task that nobody waits for.

#include <keel/task.hpp>

#include <memory>
#include <utility>

namespace keel::inline KEEL_ABI {

/// Runs a task on the loop, from a turn of it. `done(outcome<T>)` hears of its end, and must not throw.
template <class T, class Done>
void run_apart(loop& on, task<T> work, Done done) {
    auto line = std::make_shared<detail::activity>(on);
    detail::start(*line, std::move(work),
                  [line, done = std::move(done)](detail::outcome<T> o) mutable { done(std::move(o)); });
}

}  // namespace keel
