#pragma once

// A client for programs without coroutines: every function waits, and returns its value or throws.
//
//     keel::blocking_client client({.command = "./calculator"});
//     client.connect();
//     keel::tool_result sum = client.call_tool("add", keel::json::object({{"a", 1}, {"b", 2}}));

#include <keel/client.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI {

namespace detail {

/// The loop that a client's work is done on.
KEEL_API std::shared_ptr<loop> loop_of(const client&);

/// Throws std::logic_error on the loop's own thread: who waited there for the loop would wait for ever.
KEEL_API void refuse_to_wait_on(const loop&);
[[noreturn]] KEEL_API void throw_loop_ended();

/// A task that one thread waits for while a loop runs it. Both own it: the loop may be done with it later than the waiter.
template <class T>
class awaited {
public:
    explicit awaited(std::shared_ptr<loop> on) : loop_(std::move(on)) {}

    /// False: the loop has ended.
    static bool begin(const std::shared_ptr<awaited>& self, task<T> work) {
        auto order = std::make_shared<start_order>(self, std::move(work));
        return self->loop_->post([order] { start_order::carry_out(order); });
    }

    /// Cancels the task. What comes of it is still to be waited for. Any thread.
    static void cancel(const std::shared_ptr<awaited>& self) {
        self->loop_->post([self] {
            // Held while it stops: the task may end in there.
            if (std::shared_ptr<activity> line = self->line_) line->stop();
        });
    }

    /// False: it has not ended by then.
    bool wait_until(time_point when) {
        std::unique_lock lock(mutex_);
        auto ended = [this] { return dropped_ || result_; };
        if (when != time_point::max()) return changed_.wait_until(lock, when, ended);
        changed_.wait(lock, ended);
        return true;
    }

    /// After wait_until has returned true, once.
    outcome<T> take() {
        std::lock_guard lock(mutex_);
        if (!result_) throw_loop_ended();
        // Moved out whole: from here on the exception, if it is one, is the waiting thread's alone.
        outcome<T> taken = std::move(*result_);
        result_.reset();
        return taken;
    }

private:
    // In the loop's hands from the beginning to the end: in its queue first, then as a timer that is never due. A loop that ends
    // drops both, and then nobody else would tell the waiter.
    struct start_order {
        std::shared_ptr<awaited> whose;
        task<T> work;

        start_order(std::shared_ptr<awaited> w, task<T> t) : whose(std::move(w)), work(std::move(t)) {}
        start_order(const start_order&) = delete;
        start_order& operator=(const start_order&) = delete;
        ~start_order() {
            if (whose) whose->drop();
        }
        static void carry_out(const std::shared_ptr<start_order>& order) {
            std::shared_ptr<awaited> self = order->whose;
            self->line_ = std::make_shared<activity>(*self->loop_);
            self->until_end_ = self->loop_->start_timer(time_point::max(), [order] { (void)order; });
            start(*self->line_, std::move(order->work), [self](outcome<T> r) { self->end(std::move(r)); });
        }
    };

    // The activity ends here and not with its owner, which may be the waiting thread: what ran in it still lets go of it on the
    // loop. The waiter is woken under the lock: afterwards it may be gone, but not what is locked here.
    void end(outcome<T> r) noexcept {
        line_.reset();
        {
            std::lock_guard lock(mutex_);
            result_.emplace(std::move(r));
            changed_.notify_all();
        }
        loop_->stop_timer(until_end_);
    }
    void drop() noexcept {
        std::lock_guard lock(mutex_);
        dropped_ = true;
        changed_.notify_all();
    }

    std::shared_ptr<loop> loop_;
    std::shared_ptr<activity> line_;  // on the loop alone, while the task runs
    loop::timer until_end_ = 0;       // on the loop alone
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<outcome<T>> result_;
    bool dropped_ = false;
};

/// Runs a task on a loop that another thread runs, and waits for its end. Throws what the task throws, keel::error (closed) when
/// the loop has ended, std::logic_error on the loop's own thread.
template <class T>
T wait_for(std::shared_ptr<loop> on, task<T> work) {
    refuse_to_wait_on(*on);
    auto call = std::make_shared<awaited<T>>(std::move(on));
    if (!awaited<T>::begin(call, std::move(work))) throw_loop_ended();
    call->wait_until(time_point::max());
    return value_of<T>(call->take());
}

/// The same with a bound: nothing when the task has not ended by then. It is cancelled, and ended when this returns.
template <class T>
std::optional<T> wait_for_until(std::shared_ptr<loop> on, task<T> work, time_point when) {
    refuse_to_wait_on(*on);
    auto call = std::make_shared<awaited<T>>(std::move(on));
    if (!awaited<T>::begin(call, std::move(work))) throw_loop_ended();
    bool late = !call->wait_until(when);
    if (late) {
        awaited<T>::cancel(call);
        call->wait_until(time_point::max());
    }
    outcome<T> r = call->take();
    if (late && r.index() == 0) {
        try {
            std::rethrow_exception(std::get<0>(std::move(r)));
        } catch (const cancelled&) {  // by us
            return std::nullopt;
        }
    }
    return value_of<T>(std::move(r));
}

}  // namespace detail

/// Changes at a server, one after the other. Any thread; threads that wait at the same time take turns.
class KEEL_API blocking_subscription {
public:
    blocking_subscription() = default;
    blocking_subscription(std::shared_ptr<loop> on, subscription s);

    /// What the server has agreed to tell of: perhaps less than was asked for.
    subscription_request agreed() const;
    /// Waits for the next change. Nothing: it is over, and `how_ended` says why.
    std::optional<change> next();
    /// Nothing also when there was none for so long: then `how_ended` is still `none`.
    std::optional<change> next(duration at_most);
    subscription_end how_ended() const;
    /// The reason of a loss, for people.
    std::string why_lost() const;
    /// No more changes; whoever waits in next() gets nothing. Idempotent.
    void stop();

private:
    struct state {
        std::shared_ptr<keel::loop> loop;
        subscription changes;
        std::timed_mutex turn;  // of the threads in next()
    };
    state& there() const;

    std::shared_ptr<state> state_;
};

/// Threads: everything may be called from any thread, by several at the same time, but not on the loop of the client: in a
/// callback that runs there std::logic_error is thrown. Handlers of questions that are plain functions run elsewhere and may call.
///
/// Every call ends: with its result or with keel::error, whose kind says what can be done. `call_options::stop` gives a call up
/// from another thread.
class KEEL_API blocking_client {
public:
    /// Its work is done on a thread of its own.
    explicit blocking_client(server_target where, client_options options = {});
    /// `keel::blocking_client client({.command = "./calculator"});`
    explicit blocking_client(child_process what, client_options options = {});
    /// Takes over a client. If that runs on a loop of the caller's, the loop must be run by another thread meanwhile.
    explicit blocking_client(client c) noexcept : client_(std::move(c)) {}

    /// For programs that have some coroutines after all.
    client& underlying() noexcept { return client_; }

    // ---- the connection ----

    /// Starts or reaches the server and agrees on a revision. Does nothing when connected. Once lost, connects anew.
    void connect(connect_options how = {});
    /// Ends the connection in order: calls that are waiting fail; a child gets its time to go. Idempotent.
    void close();
    bool connected() const { return client_.connected(); }
    /// Of the current or the last connection.
    server_facts server() const { return client_.server(); }
    std::string describe() const { return client_.describe(); }

    // ---- tools ----

    std::vector<tool> list_tools(call_options how = {});
    /// Without a cursor: the first page.
    page<tool> list_tools_page(std::optional<std::string> cursor = {}, call_options how = {});
    /// `arguments` is an object, or null. A tool that fails in its own business gives a result with is_error.
    tool_result call_tool(std::string name, json::value arguments = {}, call_options how = {});
    /// The same with a described struct. (The number keeps this one out of the way of call_tool<T>.)
    template <int = 0, class Args>
        requires(!std::is_convertible_v<const Args&, json::value>)
    tool_result call_tool(std::string name, const Args& arguments, call_options how = {}) {
        return wait(client_.call_tool(std::move(name), arguments, std::move(how)));
    }
    /// Typed: `arguments` a described struct or a json::value, the result a described struct, number, bool or text.
    /// Throws keel::tool_failed for a result with is_error.
    template <class T, class Args = json::value>
    T call_tool(std::string name, const Args& arguments = {}, call_options how = {}) {
        return wait(client_.call_tool<T>(std::move(name), arguments, std::move(how)));
    }

    // ---- resources ----

    std::vector<resource> list_resources(call_options how = {});
    page<resource> list_resources_page(std::optional<std::string> cursor = {}, call_options how = {});
    std::vector<resource_template> list_resource_templates(call_options how = {});
    page<resource_template> list_resource_templates_page(std::optional<std::string> cursor = {}, call_options how = {});
    std::vector<resource_contents> read_resource(std::string uri, call_options how = {});

    // ---- prompts and completion ----

    std::vector<prompt> list_prompts(call_options how = {});
    page<prompt> list_prompts_page(std::optional<std::string> cursor = {}, call_options how = {});
    prompt_result get_prompt(std::string name, std::map<std::string, std::string> arguments = {},
                             call_options how = {});
    completion complete_prompt(std::string name, std::string argument, std::string value,
                               std::map<std::string, std::string> others = {}, call_options how = {});
    completion complete_resource(std::string uri_template, std::string argument, std::string value,
                                 std::map<std::string, std::string> others = {}, call_options how = {});

    // ---- changes ----

    /// Hears of changes until the subscription is dropped, in whatever way the revision has. The options are those of what asks
    /// for it: `idle` and `total` bound the agreement, not what comes after.
    blocking_subscription subscribe(subscription_request what, call_options how = {});

    // ---- the rest ----

    /// A sign of life.
    void ping(call_options how = {});
    /// Messages from this level on are wanted from now on.
    void set_log_level(log_level from, call_options how = {});
    void set_roots(std::vector<root> roots);
    /// A method of one's own, or one that is not here. Questions of the server are answered as usual.
    json::value request(std::string method, json::value params = {}, call_options how = {});
    /// One round of a request that may ask for something: see client::request_once.
    request_round request_once(std::string method, json::value params, round_answers answers = {},
                               call_options how = {});
    /// Dropped without complaint when it cannot be sent.
    void notify(std::string method, json::value params = {});

private:
    template <class T>
    T wait(task<T> work) {
        return detail::wait_for(detail::loop_of(client_), std::move(work));
    }

    client client_;
};

}  // namespace keel
