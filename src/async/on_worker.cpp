#include "async/loop_handle.hpp"
#include "async/reactor.hpp"
#include "async/worker_pool.hpp"

#include <keel/async.hpp>
#include <keel/error.hpp>

#include <cxxabi.h>

#include <stdexcept>

namespace keel::inline KEEL_ABI::async {

namespace {

class loop_workers final : public detail::work_executor {
public:
    void run_on_worker(std::function<void()> work) override { pool_.submit(std::move(work)); }

private:
    worker_pool pool_;
};

}  // namespace

detail::work_executor& reactor::workers() {
    if (!workers_) workers_ = std::make_shared<loop_workers>();
    return *workers_;
}

}  // namespace keel::async

namespace keel::inline KEEL_ABI::detail {

worker_job::worker_job() = default;
worker_job::~worker_job() = default;

bool worker_job::leave_queue(state to) noexcept {
    state expected = state::queued;
    return state_.compare_exchange_strong(expected, to, std::memory_order_acq_rel);
}

/// Resumes the waiting task exactly once, on its loop. The queue of the worker threads owns it, then the queue of the loop; either may
/// drop it.
class worker_wait::arrival {
public:
    arrival(worker_wait& w, async::loop_handle home) noexcept : job_(w.job_), waiting_(&w), home_(std::move(home)) {}
    arrival(const arrival&) = delete;
    arrival& operator=(const arrival&) = delete;
    ~arrival() {
        if (!waiting_) return;
        // The loop has ended. Nothing else uses the coroutine now, so it is resumed here, as cancelled; otherwise it would leak.
        if (posted_) {
            if (job_) {
                job_->returned_ = false;
                job_->failure_ = nullptr;
            }
            waiting_->resume();
            return;
        }
        // The worker threads dropped the function. If it was cancelled, the task no longer waits.
        if (job_->leave_queue(worker_job::state::taken)) {
            post(std::make_shared<arrival>(std::exchange(waiting_, nullptr), std::move(home_)));
        }
    }

    arrival(worker_wait* w, async::loop_handle home) noexcept : waiting_(w), home_(std::move(home)) {}

    /// On the worker thread.
    static void run(std::shared_ptr<arrival> self) {
        worker_job& job = *self->job_;
        if (!job.leave_queue(worker_job::state::taken)) return;
        try {
            job.call(job.stop_.get_token());
            job.returned_ = true;
        } catch (abi::__forced_unwind&) {
            job.failure_ = std::make_exception_ptr(std::runtime_error("the function ended its thread"));
            post(std::move(self));
            throw;
        } catch (...) {  // rethrown in the waiting task
            job.failure_ = std::current_exception();
        }
        post(std::move(self));
    }

private:
    // Moved into the queue of the loop: the task and its result are destroyed on the loop, not on the worker thread.
    static void post(std::shared_ptr<arrival> self) {
        self->posted_ = true;
        async::loop_handle home = self->home_;
        home.post([self = std::move(self)] { std::exchange(self->waiting_, nullptr)->resume(); });
    }

    std::shared_ptr<worker_job> job_;
    worker_wait* waiting_;
    async::loop_handle home_;
    bool posted_ = false;
};

void worker_wait::submit() {
    auto self = std::make_shared<arrival>(*this, async::loop_handle(current().loop()));
    work_executor* executor = current().executor();
    try {
        if (!executor) {
            async::reactor* own = current().loop().as_reactor();
            if (!own) {
                throw std::logic_error("keel: on_worker: this loop has no worker threads; use a loop of the library");
            }
            executor = &own->workers();
        }
        executor->run_on_worker([self]() mutable { arrival::run(std::move(self)); });
        // From here on nothing may use *this: the loop may have ended, and then the worker thread resumes the task.
    } catch (...) {  // the await expression throws it
        job_->leave_queue(worker_job::state::cancelled);
        leave();
        throw;
    }
}

void worker_wait::interrupt() noexcept {
    if (job_->leave_queue(worker_job::state::cancelled)) return resume();
    job_->stop_.request_stop();
}

void worker_wait::await_resume() {
    if (interrupted() || (!job_->returned_ && !job_->failure_)) throw cancelled();
    if (job_->failure_) std::rethrow_exception(std::move(job_->failure_));
}

}  // namespace keel::detail
