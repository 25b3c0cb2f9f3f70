#include "server/worker_call.hpp"

#include <cxxabi.h>

#include <system_error>

namespace keel::inline KEEL_ABI::server_side {

worker_call::worker_call(std::shared_ptr<detail::call_state> state, invocation call)
    : state_(std::move(state)), call_(std::move(call)), input_(call_.given()),
      drop_(state_->request->token(), [this] { on_stop(); }) {}

std::optional<json::value> worker_call::take_input() {
    std::lock_guard lock(mutex_);
    return std::exchange(input_, std::nullopt);
}

namespace {

class input_dropper final : public detail::input_owner {
public:
    explicit input_dropper(std::optional<json::value>& input) noexcept : input_(input) {}
    ~input_dropper() = default;
    void release_input() override { *input_ = json::value(); }

private:
    std::optional<json::value>& input_;
};

}  // namespace

rpc::handler_outcome worker_call::run() {
    std::optional<json::value> input = take_input();
    if (!input) return {};
    handler_mark mark(server());
    detail::reply reply;
    result_text around;
    try {
        context ctx(state_);
        input_dropper dropper(input);
        reply.input = &dropper;
        call_.handler->plain(&ctx, *input, reply);
        call_.write(around, reply, state_->client->revision, server(), call_.offer.get());
    } catch (abi::__forced_unwind&) {
        throw;
    } catch (...) {  // outcome_of_failure handles all exceptions
        return outcome_of_failure(std::current_exception(), *state_);
    }
    rpc::handler_outcome outcome = rpc::handler_outcome::of(join(around, std::move(reply.content)));
    outcome.tool_error = reply.is_error;
    return outcome;
}

void worker_call::tell(rpc::handler_outcome outcome) {
    if (told_.exchange(true)) return;
    auto done = std::exchange(done_, nullptr);
    done(std::move(outcome));
}

// Called on the loop, while the request is being stopped; so the end is posted.
void worker_call::on_stop() {
    if (!take_input() || !queued_) return;
    state_->request->loop().post([weak = weak_from_this()] {
        if (auto self = weak.lock()) self->tell({});
    });
}

void worker_call::start(done_function done) {
    done_ = std::move(done);
    if (state_->request->stopped()) return tell({});
    queued_ = true;
    const handler_executor& own = call_.handler->run_on;
    const handler_executor& executor = own ? own : server().options.run_on;
    if (executor) start_on(executor);
    else start_on_pool();
}

/// The function that is queued. Whoever drops it instead of calling it ends the call.
class worker_call::job {
public:
    /// `unless_run` is the outcome if the function is dropped.
    job(std::shared_ptr<worker_call> call, rpc::handler_outcome unless_run)
        : call_(std::move(call)), unless_run_(std::move(unless_run)) {}
    job(const job&) = delete;
    job& operator=(const job&) = delete;
    ~job() {
        if (counter_) counter_->fetch_sub(1, std::memory_order_relaxed);
        call_->tell(std::move(unless_run_));
    }

    /// Counts this function until it is destroyed. Returns false if there are `most` already.
    bool count_in(std::atomic<std::size_t>& counter, std::size_t most) {
        counter_ = &counter;
        return counter.fetch_add(1, std::memory_order_relaxed) < most;
    }
    void run() {
        rpc::handler_outcome outcome;
        try {
            outcome = call_->run();
        } catch (abi::__forced_unwind&) {
            // The handler ended its thread (pthread_exit): answer, then let the thread end.
            outcome.what = rpc::handler_outcome::kind::failure;
            outcome.error = {error_code::internal, "internal error", {}};
            outcome.log = "the handler ended its thread";
            call_->tell(std::move(outcome));
            throw;
        }
        call_->tell(std::move(outcome));
    }

private:
    const std::shared_ptr<worker_call> call_;  // also keeps the counter alive
    rpc::handler_outcome unless_run_;
    std::atomic<std::size_t>* counter_ = nullptr;
};

void worker_call::start_on_pool() {
    rpc::handler_outcome refused;
    refused.what = rpc::handler_outcome::kind::failure;
    // A pool that shuts down drops its queue when there is nobody left to answer.
    auto queued = std::make_shared<job>(shared_from_this(), rpc::handler_outcome());
    try {
        auto pool = server().workers();
        // Cancelled calls no longer count as in flight, but may still be in the queue.
        if (pool->queued() >= server().options.limits.max_in_flight_total) {
            refused.error = rpc::overloaded_error("too many calls are waiting for a worker thread");
        } else if (pool->submit([queued] { queued->run(); })) {
            return;
        } else {
            refused.error = rpc::shutting_down_error();
        }
    } catch (const std::system_error& e) {
        refused.error = rpc::overloaded_error("cannot start a worker thread");
        refused.log = e.what();
    }
    tell(std::move(refused));
}

void worker_call::start_on(const handler_executor& executor) {
    auto failure = [](rpc::failure error, std::string log) {
        rpc::handler_outcome out;
        out.what = rpc::handler_outcome::kind::failure;
        out.error = std::move(error);
        out.log = std::move(log);
        return out;
    };
    const rpc::failure internal{error_code::internal, "internal error", {}};
    auto queued =
        std::make_shared<job>(shared_from_this(), failure(internal, "run_on destroyed the call instead of running it"));
    // Cancelled calls no longer count as in flight, but the program may still hold them.
    if (!queued->count_in(server().waiting_for_executor, server().options.limits.max_in_flight_total)) {
        return tell(failure(rpc::overloaded_error("too many calls are waiting for the program"), {}));
    }
    try {
        executor([queued] { queued->run(); });
    } catch (abi::__forced_unwind&) {
        throw;
    } catch (const std::exception& e) {
        tell(failure(internal, std::string("run_on threw: ") + e.what()));
    } catch (...) {  // a function of the program may throw anything
        tell(failure(internal, "run_on threw an exception that is not a std::exception"));
    }
}

void worker_wait::begin_work() {
    // Always posted: `done` may be called before this function has returned.
    loop* l = &current().loop();
    call_->start([this, l](rpc::handler_outcome outcome) {
        // std::function requires a copyable callable.
        auto held = std::make_shared<rpc::handler_outcome>(std::move(outcome));
        auto go_on = [this, held] {
            outcome_ = std::move(*held);
            resume();
        };
        // The loop ended while the function was running. Nothing else uses the coroutine now, so it is resumed here, as
        // cancelled; otherwise it would leak.
        if (!l->post(go_on)) {
            *held = {};
            go_on();
        }
    });
}

std::string worker_wait::await_resume() { return result_of(std::move(outcome_), *call_->request(), call_->server()); }

}  // namespace keel::server_side
