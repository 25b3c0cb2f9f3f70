#pragma once

// What a handler knows of the request it serves, and what it can do on its behalf.

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
#include <vector>

namespace keel::inline KEEL_ABI {

namespace detail {
struct call_state;  // src/server/call_state.hpp
struct context_access;

/// Identifies a type without type information (-fno-rtti): the address of a variable that each type has of its own. Writable,
/// since linkers may merge equal constants. Binaries with hidden visibility have different keys for the same type.
using type_key = const void*;
template <class T>
inline char type_mark = 0;
}  // namespace detail

/// A handle to one request: copy it to keep it. From any thread, and also after the request has ended: what is said
/// then is dropped, what is asked then fails.
class KEEL_API context {
public:
    explicit context(std::shared_ptr<detail::call_state> state) noexcept : state_(std::move(state)) {}

    /// The peer cancelled, or the connection is gone: finish soon, nobody waits for the answer.
    bool cancelled() const noexcept;
    /// What the peer gave as its reason; "" without one.
    std::string reason() const;
    /// For functions that run on a worker thread: hand it to whatever can be stopped.
    std::stop_token stop_token() const noexcept;

    /// Sent only if the caller asked for it. Values must increase; others are not sent.
    void progress(double value, std::optional<double> total = {}, std::string message = {});
    /// Sent only if the client wants messages of this level.
    void log(log_level level, json::value data, std::string logger = {});

    /// `co_await ctx.yield();` lets other work run, and notices a cancellation.
    keel::yield yield() const noexcept { return {}; }
    /// `co_await ctx.sleep(100ms);`
    keel::sleep_for sleep(duration d) const noexcept { return keel::sleep_for(d); }

    /// `_meta` of the request; null without any.
    const json::value& meta() const noexcept;
    /// What connects this request with the caller's traces: those members of `_meta` that are well formed.
    trace_context trace() const;
    /// The method, as it came: "tools/call".
    const std::string& method() const noexcept;
    /// The revision in force for this request: "2025-06-18".
    std::string_view protocol_version() const noexcept;
    /// What the client said of itself: name, version, …; null if it said nothing. Not proven by anything.
    const json::value& client_info() const noexcept;
    const json::value& client_capabilities() const noexcept;
    /// Who is on the other side, as the transport has established it; "" when it has not.
    const std::string& principal() const noexcept;
    /// What server::on_start has made, of this type. Throws std::logic_error when there is none.
    template <class T>
    T& state() const {
        return *static_cast<T*>(find_state(&detail::type_mark<T>, std::source_location::current()));
    }

    // ---- asking the client ----
    //
    // One handler serves every revision. Up to 2025-11-25 these are requests to the client. In 2026-07-28 the handler ends here
    // (the await throws keel::cancelled) once nothing in it can go on without an answer; the client is told what
    // is asked, and calls again; then the handler runs again from the top, and what was answered returns at once. See
    // docs/asking.md for what that means for side effects, and for `once`.
    //
    // `key` names the question within this call: each has its own.
    // All of them throw keel::error of kind unavailable where the client has not said that it can be asked.
    // Cancellation: the question is withdrawn.

    /// A form: the members of T, a described struct of texts, numbers, booleans and choices.
    template <class T>
    task<elicited<T>> elicit(std::string key, std::string message) {
        static_assert(described<T>, "keel: a form is a struct with KEEL_DESCRIBE(type, members...)");
        json::value form = schema_of<T>();
        elicited<json::value> answer = co_await elicit(std::move(key), std::move(message), std::move(form));
        elicited<T> typed;
        typed.action = answer.action;
        if (answer) typed.value = detail::decode_answer<T>(answer.value);
        co_return typed;
    }
    /// The same with a schema made at run time. It must be of the subset that forms allow (docs/asking.md).
    task<elicited<json::value>> elicit(std::string key, std::string message, json::value schema);
    /// Sends the user to a web page, for what must not pass through the client: passwords, payments, consent.
    task<url_elicited> elicit_url(std::string key, std::string message, std::string url);
    /// Revision 2025-11-25: what the user did behind the URL is done. Does nothing in the others.
    void url_elicitation_complete(const url_elicited& which);
    /// Lets the client's model write something.
    task<sampling_result> sample(std::string key, sampling_request request);
    /// The directories and files that the client lets us work in.
    task<std::vector<root>> list_roots(std::string key = "roots");

    /// Runs a step that must happen only once, however often the handler runs: `co_await ctx.once("charge", [&] { … })`. The
    /// function (plain, or returning a task) gives a value that can be described; it is remembered with the answers.
    template <class F>
    auto once(std::string key, F step) -> task<detail::once_result<F>> {
        using result = detail::once_result<F>;
        static_assert(!std::is_void_v<result>, "keel: a step of `once` gives a value, for instance true");
        context self = *this;  // this one may be gone before we are
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

    /// Any request to the client, for revisions in which servers may send one.
    /// Cancellation: the question is withdrawn.
    task<json::value> request(std::string method, json::value params, duration timeout = {});

    /// Over HTTP with a client of 2025-11-25: its connection is let go, and it comes back for the rest after `retry`. For calls
    /// that take long, behind proxies that do not like that. Does nothing elsewhere.
    void release_stream(duration retry);
    /// Closes the connection this request came on. The request itself gets no answer.
    void close_connection();

private:
    friend struct detail::context_access;
    void* find_state(detail::type_key type, const std::source_location& where) const;
    std::optional<json::value> recorded_outcome(const std::string& key) const;
    void record_outcome(std::string key, json::value outcome);

    std::shared_ptr<detail::call_state> state_;
};

}  // namespace keel
