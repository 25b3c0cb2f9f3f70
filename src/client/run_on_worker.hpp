#pragma once

// Runs a blocking function on the thread pool and awaits it on the loop.

#include "async/worker_pool.hpp"

#include <keel/task.hpp>

#include <cxxabi.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace keel::inline KEEL_ABI::client_side {

/// Cancellation ends the wait immediately. The function continues to run; its stop token has fired.
template <class T>
class run_on_worker final : public detail::wait {
public:
    run_on_worker(async::worker_pool& pool, std::shared_ptr<loop> home, std::function<T()> work)
        : pool_(pool), state_(std::make_shared<state>(std::move(home), std::move(work))) {}
    ~run_on_worker() = default;

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) {
        if (!begin(h)) return false;
        state_->waiting = this;
        try {
            if (pool_.submit([s = state_] { run(s); })) return true;
        } catch (...) {  // no thread or no memory: thrown by co_await
            state_->waiting = nullptr;
            leave();
            throw;
        }
        leave();
        return false;
    }
    T await_resume() {
        state_->waiting = nullptr;
        check();
        if (!state_->result) throw cancelled();  // the pool has shut down
        if (state_->result->index() == 0) std::rethrow_exception(std::get<0>(std::move(*state_->result)));
        return std::get<1>(std::move(*state_->result));
    }

private:
    struct state {
        state(std::shared_ptr<loop> l, std::function<T()> w) : home(std::move(l)), work(std::move(w)) {}
        std::shared_ptr<loop> home;
        std::function<T()> work;
        std::optional<detail::outcome<T>> result;
        std::atomic<bool> dropped{false};  // cancelled before it started: it is not run
        run_on_worker* waiting = nullptr;  // on the loop only
    };
    static void run(std::shared_ptr<state> s) {
        if (s->dropped.load(std::memory_order_acquire)) return;
        auto result = std::make_shared<detail::outcome<T>>();
        try {
            result->template emplace<1>(s->work());
        } catch (abi::__forced_unwind&) {
            throw;
        } catch (...) {  // rethrown by await_resume
            result->template emplace<0>(std::current_exception());
        }
        s->work = nullptr;
        // Posted work does not keep the loop alive, so this function must.
        std::shared_ptr<loop> home = std::move(s->home);
        home->post([s, result] {
            s->result.emplace(std::move(*result));
            if (s->waiting) s->waiting->resume();
        });
    }
    void interrupt() noexcept override {
        state_->dropped.store(true, std::memory_order_release);
        state_->waiting = nullptr;
        resume();
    }

    async::worker_pool& pool_;
    std::shared_ptr<state> state_;
};

}  // namespace keel::client_side
