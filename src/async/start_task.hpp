#pragma once

// Starting a task without awaiting it.

#include <keel/task.hpp>

#include <memory>
#include <utility>

namespace keel::inline KEEL_ABI::async {

/// Runs a task on the loop; must be called on that loop. `done(outcome<T>)` is called once when the task ends, and must not throw.
template <class T, class Done>
void start_task(loop& on, task<T> work, Done done) {
    auto line = std::make_shared<detail::activity>(on);
    detail::start(*line, std::move(work),
                  [line, done = std::move(done)](detail::outcome<T> o) mutable { done(std::move(o)); });
}

}  // namespace keel::async
