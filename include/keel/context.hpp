#pragma once

// The request that a handler serves: cancellation, progress, logging, metadata, and requests to the client.

#include <keel/asking.hpp>
#include <keel/async.hpp>
#include <keel/json.hpp>
#include <keel/log_level.hpp>
#include <keel/task.hpp>
#include <keel/trace.hpp>
#include <keel/types.hpp>

#include <memory>
#include <optional>
#include <source_location>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace keel::inline KEEL_ABI {

namespace detail {
struct call_state;  // src/server/call_state.hpp
struct context_access;

template <class T>
struct once_value {
    using type = T;
};
template <class T>
struct once_value<task<T>> {
    using type = T;
};
template <class F>
using once_result = typename once_value<std::invoke_result_t<F&>>::type;

/// Identifies a type without type information (-fno-rtti): the address of a variable that each type has of its own. Writable,
/// since linkers may merge equal constants. Binaries with hidden visibility have different keys for the same type.
using type_key = const void*;
// A member of a class template: g++ 12 exports variable templates in spite of -fvisibility=hidden.
template <class T>
struct type_mark {
    static inline char value = 0;
};
}  // namespace detail

/// A handle to one request; cheap to copy. Safe to use from any thread, also after the request has ended: notifications are
/// then dropped, and requests to the client fail.
class KEEL_API context {
public:
    explicit context(std::shared_ptr<detail::call_state> state) noexcept : state_(std::move(state)) {}

    /// True if the client cancelled the request or the connection is closed. The handler should return soon; its result is
    /// discarded.
    bool cancelled() const noexcept;
    /// The reason for the cancellation that the client gave, or "".
    std::string reason() const;
    /// Stops when the request is cancelled. For plain handlers on worker threads, to pass to anything that takes a stop token.
    std::stop_token stop_token() const noexcept;

    /// Sends a progress notification if the client requested progress. `value` must increase with each call; a value that
    /// does not is not sent.
    void progress(double value, std::optional<double> total = {}, std::string message = {}) const;
    /// Sends a log message to the client if it requested messages of this level.
    void log(log_level level, json::value data, std::string logger = {}) const;

    /// `co_await ctx.yield();` lets other work run. Cancellation: throws keel::cancelled.
    keel::yield yield() const noexcept { return {}; }
    /// `co_await ctx.sleep(100ms);` suspends the handler. Cancellation: throws keel::cancelled.
    keel::sleep_for sleep(duration d) const noexcept { return keel::sleep_for(d); }

    /// `_meta` of the request, or null.
    const json::value& meta() const noexcept;
    /// The W3C trace context in `_meta`. Malformed members are left out.
    trace_context trace() const;
    /// The method of the request: "tools/call".
    const std::string& method() const noexcept;
    /// The protocol revision of this request: "2025-06-18".
    std::string_view protocol_version() const noexcept;
    /// The client's name, version and so on as it reported them, or null. Not authenticated.
    const json::value& client_info() const noexcept;
    /// The capabilities that the client declared, or null.
    const json::value& client_capabilities() const noexcept;
    /// The authenticated identity of the client as established by the transport, or "".
    const std::string& principal() const noexcept;
    /// The state of type T that a server::on_start hook returned. Throws std::logic_error if there is none. The server keeps it
    /// until it has stopped. Types are compared within one binary: a hook and a handler in different shared libraries that are
    /// both compiled with hidden visibility do not share states.
    template <class T>
    T& state() const {
        return *static_cast<T*>(find_state(&detail::type_mark<T>::value, std::source_location::current()));
    }

    // ---- asking the client ----
    //
    // The same handler works with every revision. Up to 2025-11-25 these functions send requests to the client. In 2026-07-28
    // the handler ends here (the await throws keel::cancelled) as soon as it only waits for answers; the client receives the
    // questions and calls again with the answers; the handler then runs again from the start, and each question that was
    // answered returns at once. See docs/asking.md for side effects and `once`.
    //
    // `key` identifies the question within this call and must be unique in it.
    // All of them throw keel::error with kind `unavailable` if the client did not declare the capability.
    // Cancellation: the request to the client is cancelled.

    /// Asks the user to fill in a form with the members of T, a described struct of strings, numbers, booleans and enums.
    template <class T>
    task<elicited<T>> elicit(std::string key, std::string message) const {
        static_assert(described<T>, "keel: elicit<T> needs a described struct: add KEEL_DESCRIBE(type, members...)");
        json::value form = schema_of<T>();
        elicited<json::value> answer = co_await elicit(std::move(key), std::move(message), std::move(form));
        elicited<T> typed;
        typed.action = answer.action;
        if (answer) typed.value = detail::decode_answer<T>(answer.value);
        co_return typed;
    }
    /// Same, with a schema created at run time. It must be in the subset that forms allow (docs/asking.md).
    task<elicited<json::value>> elicit(std::string key, std::string message, json::value schema) const;
    /// Asks the user to open a web page, for data that must not pass through the client: passwords, payments, consent.
    task<url_elicited> elicit_url(std::string key, std::string message, std::string url) const;
    /// Notifies the client that the interaction at the URL is complete. Revision 2025-11-25 only; does nothing in others.
    void url_elicitation_complete(const url_elicited& which) const;
    /// Asks the client's model to generate a message.
    task<sampling_result> sample(std::string key, sampling_request request) const;
    /// The directories and files that the client gives the server access to.
    task<std::vector<root>> list_roots(std::string key = "roots") const;

    /// Runs `step` once, however often the handler runs: `co_await ctx.once("charge", [&] { … })`. `step` is a plain function or
    /// returns a task; its result must be of a described type. The result is stored with the answers and returned by later runs.
    template <class F>
    auto once(std::string key, F&& step) const -> task<detail::once_result<F>> {
        static_assert(!std::is_void_v<detail::once_result<F>>,
                      "keel: the function passed to `once` must return a value, for example true");
        static_assert(
            detail::may_be_awaited<F>,
            "keel: g++ 12 destroys a temporary lambda with captures by copy twice in a co_await: give it a name first");
        // A copy of *this, which may be destroyed before the coroutine ends.
        return run_once<std::decay_t<F>>(*this, std::move(key), std::forward<F>(step));
    }

    /// Sends any request to the client, in revisions before 2026-07-28. Returns the result. Throws keel::error.
    /// Cancellation: the request is cancelled.
    task<json::value> request(std::string method, json::value params, duration timeout = {}) const;

    /// Closes the HTTP stream of this request; the client reconnects after `retry` and receives the rest. For long calls behind
    /// proxies with timeouts. HTTP with revision 2025-11-25 only; does nothing elsewhere.
    void release_stream(duration retry) const;
    /// Closes the connection of this request. The request is not answered.
    void close_connection() const;

private:
    friend struct detail::context_access;
    template <class F>
    static auto run_once(context self, std::string key, F step) -> task<detail::once_result<F>> {
        using result = detail::once_result<F>;
        if (auto known = self.recorded_outcome(key)) co_return detail::decode_answer<result>(*known);
        if constexpr (detail::is_task_of<std::invoke_result_t<F&>>) {
            result r = co_await step();
            self.record_outcome(std::move(key), encode(r));
            co_return r;
        } else {
            result r = step();
            self.record_outcome(std::move(key), encode(r));
            co_return r;
        }
    }
    void* find_state(detail::type_key type, const std::source_location& where) const;
    std::optional<json::value> recorded_outcome(const std::string& key) const;
    void record_outcome(std::string key, json::value outcome) const;

    std::shared_ptr<detail::call_state> state_;
};

}  // namespace keel
