#pragma once

// How a call to a server is made, and what comes of it.

#include <keel/content.hpp>
#include <keel/describe.hpp>
#include <keel/error.hpp>
#include <keel/loop.hpp>
#include <keel/task.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI {

struct KEEL_API progress_report {
    double progress = 0;
    std::optional<double> total = {};
    std::string message = {};
};

/// Has constructors, so that it can be made inside a co_await with g++ 12 too.
struct KEEL_API call_options {
    /// Without an answer or progress for this long, and in all: for connecting, every page and every round together. The time that
    /// it takes to answer questions of the server here is not counted. Zero takes the client's limits (request_idle, request_total).
    duration idle{};
    duration total{};
    /// Called on the client's loop, in order, before the call ends.
    std::function<void(const progress_report&)> on_progress;
    /// Gives the call up: it fails with error_kind::cancelled, and the server is told.
    std::stop_token stop;
    /// Over HTTP: sent with this request. What the protocol itself sends cannot be replaced.
    std::vector<std::pair<std::string, std::string>> headers;
    /// Members for `_meta`; an object, or null.
    json::value meta;
    /// A result that was kept may do. What is fetched is kept in any case.
    bool from_cache = true;

    call_options() = default;
    template <class Number, class Unit>
    call_options(std::chrono::duration<Number, Unit> idle_time) : idle(idle_time) {}
    call_options(std::stop_token s) : stop(std::move(s)) {}
};

/// How a connection is opened. Several requests may be needed for that, so what is to go along with each belongs into keel::url.
struct KEEL_API connect_options {
    /// For this wait, beside the client's own `connect_timeout`, whichever is shorter. Zero: that alone.
    duration timeout{};
    /// Gives it up: it fails with error_kind::cancelled. Others who wait for the same connection still get one.
    std::stop_token stop;

    connect_options() = default;
    template <class Number, class Unit>
    connect_options(std::chrono::duration<Number, Unit> at_most) : timeout(at_most) {}
    connect_options(std::stop_token s) : stop(std::move(s)) {}
};

/// A tool that failed in its own business, where a typed result was wanted. The text is what the tool said.
class KEEL_API tool_failed : public std::runtime_error {
public:
    explicit tool_failed(tool_result r);
    ~tool_failed() override;
    const tool_result& result() const noexcept { return *result_; }

private:
    std::shared_ptr<const tool_result> result_;
};

// ---- rounds by hand (revision 2026-07-28) ----

/// What a server wants to know before it can go on: `method` is "elicitation/create", "sampling/createMessage" or "roots/list".
struct KEEL_API input_question {
    std::string method = {};
    json::value params = {};
};

/// Either the result, or questions.
struct KEEL_API request_round {
    std::optional<json::value> result;
    std::map<std::string, input_question> questions;
    std::optional<std::string> state;  // to be given back as it is

    request_round() = default;
};

/// What goes along with the next round: an answer (a bare result) for each question.
struct KEEL_API round_answers {
    std::map<std::string, json::value> answers;
    std::optional<std::string> state;

    round_answers() = default;
    bool empty() const noexcept { return answers.empty() && !state; }
};

namespace detail {

template <class Args>
json::value arguments_of(const Args& arguments) {
    if constexpr (std::is_convertible_v<const Args&, json::value>) return arguments;
    else return keel::encode(arguments);
}

/// What a result says of its value: structured content, or its text read as JSON where that is what T needs.
KEEL_API json::value value_of(const tool_result& r, bool wants_text);
[[noreturn]] KEEL_API void throw_unexpected_result(const decode_error&);

template <class T>
task<T> typed_result(task<tool_result> call) {
    tool_result r = co_await std::move(call);
    if (r.is_error) throw tool_failed(std::move(r));
    constexpr bool text = std::is_same_v<T, std::string>;
    T into{};
    decode_error e;
    if (!keel::decode(value_of(r, text), into, e, "result")) throw_unexpected_result(e);
    co_return into;
}

}  // namespace detail

}  // namespace keel
