#pragma once

// A synchronous client, for programs without coroutines: every function blocks until it returns its result or throws.
//
//     keel::blocking_client client({.command = "./calculator"});
//     client.connect();
//     keel::tool_result sum = client.call_tool("add", keel::json::object("a", 1, "b", 2));

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

/// The loop that a client runs on.
KEEL_API std::shared_ptr<loop> loop_of(const client&);

/// Throws std::logic_error on the loop's own thread, where waiting for the loop would deadlock.
KEEL_API void refuse_to_wait_on(const loop&);
[[noreturn]] KEEL_API void throw_loop_ended();

/// A task that one thread waits for while a loop runs it. Both own it, because the loop may use it after the waiter has returned.
template <class T>
class awaited {
public:
    explicit awaited(std::shared_ptr<loop> on) : loop_(std::move(on)) {}

    /// Returns false if the loop has ended.
    static bool begin(const std::shared_ptr<awaited>& self, task<T> work) {
        auto order = std::make_shared<start_order>(self, std::move(work));
        return self->loop_->post([order] { start_order::carry_out(order); });
    }

    /// Cancels the task; the caller must still wait for it to end. Safe to call from any thread.
    static void cancel(const std::shared_ptr<awaited>& self) {
        self->loop_->post([self] {
            // Kept alive during stop(), in which the task may end.
            if (std::shared_ptr<activity> line = self->line_) line->stop();
        });
    }

    /// Returns false if the task has not ended by then.
    bool wait_until(time_point when) {
        std::unique_lock lock(mutex_);
        auto ended = [this] { return dropped_ || result_; };
        if (when != time_point::max()) return changed_.wait_until(lock, when, ended);
        changed_.wait(lock, ended);
        return true;
    }

    /// Returns the result. Call it once, after wait_until has returned true.
    outcome<T> take() {
        std::lock_guard lock(mutex_);
        if (!result_) throw_loop_ended();
        // Moved out completely: only the waiting thread may own the exception, if there is one.
        outcome<T> taken = std::move(*result_);
        result_.reset();
        return taken;
    }

private:
    // Owned by the loop while the task runs: first as posted work, then as a timer that is never due. A loop that ends destroys
    // both, and the destructor tells the waiter.
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

    // The activity is destroyed here, on the loop, and not with *this, which the waiting thread may destroy. The waiter is notified
    // under the lock: it may return and release its share as soon as the lock is free.
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
    std::shared_ptr<activity> line_;  // used on the loop only, while the task runs
    loop::timer until_end_ = 0;       // used on the loop only
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<outcome<T>> result_;
    bool dropped_ = false;
};

/// Runs a task on a loop that another thread runs, and blocks until it has ended. Rethrows the exception of the task. Throws
/// keel::error (kind closed) if the loop has ended, and std::logic_error on the loop's own thread.
template <class T>
T wait_for(std::shared_ptr<loop> on, task<T> work) {
    refuse_to_wait_on(*on);
    auto call = std::make_shared<awaited<T>>(std::move(on));
    if (!awaited<T>::begin(call, std::move(work))) throw_loop_ended();
    call->wait_until(time_point::max());
    return value_of<T>(call->take());
}

/// Same, with a deadline. Returns nullopt if the task has not ended by then; it was then cancelled and has ended.
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
        } catch (const cancelled&) {  // by this function
            return std::nullopt;
        }
    }
    return value_of<T>(std::move(r));
}

}  // namespace detail

/// A subscription to changes at a server. Thread-safe; several threads may wait in next(), and each change goes to one of them.
class KEEL_API blocking_subscription {
public:
    blocking_subscription() = default;
    blocking_subscription(std::shared_ptr<loop> on, subscription s);

    /// The changes that the server agreed to report, possibly fewer than requested.
    subscription_request agreed() const;
    /// Blocks until the next change and returns it. Returns nullopt if the subscription has ended; how_ended() tells why.
    std::optional<change> next();
    /// Same, with a timeout. Returns nullopt also if there was no change in time; how_ended() is then still `none`.
    std::optional<change> next(duration at_most);
    subscription_end how_ended() const;
    /// The reason why the subscription was lost, as text for the user.
    std::string why_lost() const;
    /// Ends the subscription; threads that wait in next() return nullopt. Idempotent.
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

/// Every call returns its result or throws keel::error; see error_kind for what the caller can do. `call_options::stop` cancels a
/// call from another thread.
///
/// Thread-safe. Must not be called on the client's loop (for example in on_progress): it throws std::logic_error there. Handlers
/// that are plain functions run on worker threads and may call it.
class KEEL_API blocking_client {
public:
    /// The client runs on a thread of its own.
    explicit blocking_client(server_target where, client_options options = {});
    /// `keel::blocking_client client({.command = "./calculator"});`
    explicit blocking_client(child_process what, client_options options = {});
    /// Takes over a client. If the client runs on a loop of the caller, another thread must run that loop.
    explicit blocking_client(client c) noexcept : client_(std::move(c)) {}

    /// The asynchronous client, for programs that also use coroutines.
    client& underlying() noexcept { return client_; }

    // ---- the connection ----

    /// Starts or connects to the server and negotiates a protocol revision. Does nothing if connected; reconnects if the
    /// connection was lost.
    void connect(connect_options how = {});
    /// Closes the connection gracefully: pending calls fail, and a child process gets time to exit. Idempotent.
    void close();
    bool connected() const { return client_.connected(); }
    /// What the server reported on the current or the last connection.
    server_facts server() const { return client_.server(); }
    std::string describe() const { return client_.describe(); }

    // ---- tools ----

    std::vector<tool> list_tools(call_options how = {});
    /// Returns one page. Without a cursor: the first page.
    page<tool> list_tools_page(std::optional<std::string> cursor = {}, call_options how = {});
    /// Calls a tool. `arguments` is an object, or null. A tool-level error is a result with `is_error`, not an exception.
    tool_result call_tool(std::string name, json::value arguments = {}, call_options how = {});
    /// Same, with a described struct. (The int parameter avoids ambiguity with call_tool<T>.)
    template <int = 0, class Args>
        requires(!std::is_convertible_v<const Args&, json::value>)
    tool_result call_tool(std::string name, const Args& arguments, call_options how = {}) {
        return wait(client_.call_tool(std::move(name), arguments, std::move(how)));
    }
    /// Same, with a typed result T: a described struct, number, bool or std::string. `arguments` is a described struct or a
    /// json::value. Throws keel::tool_failed if the result has `is_error`.
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

    /// Subscribes to changes, in the way that the protocol revision provides. `how` applies to the request: its timeouts do not
    /// limit how long the subscription lasts.
    blocking_subscription subscribe(subscription_request what, call_options how = {});

    // ---- other requests ----

    /// Checks that the server answers.
    void ping(call_options how = {});
    /// Requests log messages of this level and above.
    void set_log_level(log_level from, call_options how = {});
    /// Sets the roots that the server may list, and notifies it.
    void set_roots(std::vector<root> roots);
    /// Sends any request, for example a custom method. Requests from the server are answered as usual.
    json::value request(std::string method, json::value params = {}, call_options how = {});
    /// Sends one round of a multi-round request: see client::request_once.
    request_round request_once(std::string method, json::value params, round_answers answers = {},
                               call_options how = {});
    /// Sends a notification. It is dropped silently if there is no connection.
    void notify(std::string method, json::value params = {});

private:
    template <class T>
    T wait(task<T> work) {
        return detail::wait_for(detail::loop_of(client_), std::move(work));
    }

    client client_;
};

}  // namespace keel
