#pragma once

// What a handler knows of the request it serves, and what it can do on its behalf.

#include <keel/async.hpp>
#include <keel/json.hpp>
#include <keel/task.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace keel {

namespace detail {
struct call_state;  // src/server/call_state.hpp
}

enum class log_level : unsigned char { debug, info, notice, warning, error, critical, alert, emergency };

std::string_view name_of(log_level) noexcept;
std::optional<log_level> find_log_level(std::string_view name) noexcept;

/// A directory or file that the client lets the server work in.
struct root {
    std::string uri;
    std::string name;
};

/// A handle to one request: copy it to keep it. From any thread, and also after the request has ended: what is said
/// then is dropped, what is asked then fails.
class context {
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
    /// The revision in force for this request: "2025-06-18".
    std::string_view protocol_version() const noexcept;
    /// What the client said of itself: name, version, …; null if it said nothing.
    const json::value& client_info() const noexcept;
    const json::value& client_capabilities() const noexcept;

    /// Asks the client for its roots, in the middle of a call. Throws keel::error of kind unavailable where the client
    /// has none to offer or cannot be asked.
    /// Cancellation: the question is withdrawn.
    task<std::vector<root>> list_roots();
    /// Any request to the client, for revisions in which servers may send one.
    /// Cancellation: the question is withdrawn.
    task<json::value> request(std::string method, json::value params, duration timeout = {});

    /// Closes the connection this request came on. The request itself gets no answer.
    void close_connection();

private:
    std::shared_ptr<detail::call_state> state_;
};

}  // namespace keel
