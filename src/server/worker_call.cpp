#include "server/worker_call.hpp"

#include <cxxabi.h>

#include <system_error>

namespace keel::inline KEEL_ABI::server_side {

worker_call::worker_call(std::shared_ptr<detail::call_state> state, invocation call)
    : state_(std::move(state)), call_(std::move(call)), input_(call_.given()),
      drop_(state_->request->token(), [this] { take_input(); }) {}

std::optional<json::value> worker_call::take_input() {
    std::lock_guard lock(mutex_);
    return std::exchange(input_, std::nullopt);
}

rpc::handler_outcome worker_call::run() {
    std::optional<json::value> input = take_input();
    if (!input) return {};
    handler_mark mark(server());
    detail::reply reply;
    std::string text;
    try {
        context ctx(state_);
        call_.handler->plain(&ctx, *input, reply);
        call_.write(text, reply, state_->client->revision, server(), call_.offer.get());
    } catch (abi::__forced_unwind&) {
        throw;
    } catch (...) {  // outcome_of_failure handles all exceptions
        return outcome_of_failure(std::current_exception(), *state_);
    }
    return rpc::handler_outcome::of(std::move(text));
}

namespace {

/// Delivers the outcome exactly once: at the latest when a pool that shuts down drops the work.
class told_once {
public:
    explicit told_once(std::function<void(rpc::handler_outcome)> done) : done_(std::move(done)) {}
    told_once(const told_once&) = delete;
    told_once& operator=(const told_once&) = delete;
    ~told_once() {
        if (done_) tell({});
    }
    void tell(rpc::handler_outcome outcome) {
        auto done = std::exchange(done_, nullptr);
        done(std::move(outcome));
    }

private:
    std::function<void(rpc::handler_outcome)> done_;
};

}  // namespace

void start_on_worker(std::shared_ptr<worker_call> call, std::function<void(rpc::handler_outcome)> done) {
    auto promised = std::make_shared<told_once>(std::move(done));
    rpc::handler_outcome refused;
    refused.what = rpc::handler_outcome::kind::failure;
    server_core& server = call->server();
    auto job = [call, promised]() {
        rpc::handler_outcome outcome;
        try {
            outcome = call->run();
        } catch (abi::__forced_unwind&) {
            // The handler ended its thread (pthread_exit): answer, then let the thread end.
            outcome.what = rpc::handler_outcome::kind::failure;
            outcome.error = {error_code::internal, "internal error", {}};
            outcome.log = "the handler ended its thread";
            promised->tell(std::move(outcome));
            throw;
        }
        promised->tell(std::move(outcome));
    };
    try {
        auto pool = server.workers();
        // Cancelled calls no longer count as in flight, but may still be in the queue.
        if (pool->queued() >= server.options.limits.max_in_flight_total) {
            refused.error = rpc::overloaded_error("too many calls are waiting for a worker thread");
        } else if (pool->submit(std::move(job))) {
            return;
        } else {
            refused.error = rpc::shutting_down_error();
        }
    } catch (const std::system_error& e) {
        refused.error = rpc::overloaded_error("cannot start a worker thread");
        refused.log = e.what();
    }
    promised->tell(std::move(refused));
}

void worker_wait::begin_work() {
    // Always posted: `done` may be called before this function has returned.
    loop* l = &current().loop();
    start_on_worker(call_, [this, l](rpc::handler_outcome outcome) {
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

std::string worker_wait::await_resume() { return result_of(std::move(outcome_), call_->server()); }

}  // namespace keel::server_side
