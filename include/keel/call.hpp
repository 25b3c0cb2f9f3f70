#pragma once

// Options and results of calls to a server.

#include <keel/content.hpp>
#include <keel/describe.hpp>
#include <keel/error.hpp>
#include <keel/loop.hpp>
#include <keel/task.hpp>

#include <array>
#include <chrono>
#include <concepts>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI {

struct KEEL_API progress_report {
    double progress = 0;
    std::optional<double> total = {};
    std::string message = {};
};

/// Options of one call. (It has constructors because g++ 12 miscompiles temporaries of aggregates in a co_await.)
struct KEEL_API call_options {
    /// Timeout of the whole call, with connecting, all pages and all rounds. Progress does not extend it. Time spent in the client's
    /// own handlers does not count. Zero: the client's limit (request_total).
    duration total{};
    /// Timeout without an answer or progress. Zero: the client's limit (request_idle).
    duration idle{};
    /// Called on the client's loop, in order, before the call ends.
    std::function<void(const progress_report&)> on_progress;
    /// Cancels the call: it fails with error_kind::cancelled, and the server is notified.
    std::stop_token stop;
    /// HTTP headers to send with this request. They cannot replace headers of the protocol.
    std::vector<std::pair<std::string, std::string>> headers;
    /// Members for `_meta`; an object, or null.
    json::value meta;
    /// Whether a cached result may be returned. A fetched result is cached in any case.
    bool from_cache = true;

    call_options() = default;
    /// A duration alone is the total timeout: `client.call_tool("add", arguments, 5s)`. The client's idle limit does not apply, because
    /// it could end the call earlier.
    template <class Number, class Unit>
    call_options(std::chrono::duration<Number, Unit> at_most) : total(at_most), idle(at_most) {}
    call_options(std::stop_token s) : stop(std::move(s)) {}
};

/// Options of connect. (Headers for every request belong in keel::url.)
struct KEEL_API connect_options {
    /// Timeout of this call. The client's own `connect_timeout` applies too, whichever is shorter. Zero: only the client's.
    duration timeout{};
    /// Cancels this call: it fails with error_kind::cancelled. Other callers that wait for the connection are not affected.
    std::stop_token stop;

    connect_options() = default;
    template <class Number, class Unit>
    connect_options(std::chrono::duration<Number, Unit> at_most) : timeout(at_most) {}
    connect_options(std::stop_token s) : stop(std::move(s)) {}
};

/// Thrown by call_tool<T> if the tool reported a tool-level error (`isError`). what() is the text of the result.
class KEEL_API tool_failed : public std::runtime_error {
public:
    explicit tool_failed(tool_result r);
    ~tool_failed() override;
    const tool_result& result() const noexcept { return *result_; }

private:
    std::shared_ptr<const tool_result> result_;
};

// ---- manual multi-round requests (revision 2026-07-28) ----

/// A question of the server: `method` is "elicitation/create", "sampling/createMessage" or "roots/list".
struct KEEL_API input_question {
    std::string method = {};
    json::value params = {};
};

/// The outcome of one round: either the result, or questions.
struct KEEL_API request_round {
    std::optional<json::value> result;
    std::map<std::string, input_question> questions;
    std::optional<std::string> state;  // opaque; send it back unchanged

    request_round() = default;
};

/// The input of the next round: an answer (the result alone) for each question.
struct KEEL_API round_answers {
    std::map<std::string, json::value> answers;
    std::optional<std::string> state;

    round_answers() = default;
    bool empty() const noexcept { return answers.empty() && !state; }
};

/// The arguments of a prompt, or those already chosen for a completion, names and values in turn:
/// `co_await client.get_prompt("greet", keel::text_arguments("name", "Ann"))`. (g++ 12 does not compile `{{"name", "Ann"}}` in a
/// co_await.)
template <std::convertible_to<std::string_view>... Texts>
std::map<std::string, std::string> text_arguments(const Texts&... names_and_values) {
    static_assert(sizeof...(Texts) % 2 == 0,
                  "keel: text_arguments takes names and values in turn: (\"name\", \"Ann\")");
    std::map<std::string, std::string> all;
    const std::array<std::string_view, sizeof...(Texts)> texts = {std::string_view(names_and_values)...};
    for (std::size_t i = 0; i + 1 < texts.size(); i += 2) all.insert_or_assign(std::string(texts[i]), texts[i + 1]);
    return all;
}

namespace detail {

template <class Args>
json::value arguments_of(const Args& arguments) {
    if constexpr (std::is_convertible_v<const Args&, json::value>) return arguments;
    else return keel::encode(arguments);
}

/// The value of a result: its structured content, or its text parsed as JSON unless text is wanted.
KEEL_API json::value value_of(const tool_result& r, bool wants_text);
[[noreturn]] KEEL_API void throw_unexpected_result(const decode_error&);

template <class T>
task<T> typed_result(task<tool_result> call) {
    tool_result r = co_await std::move(call);
    if (r.is_error) throw tool_failed(std::move(r));
    if constexpr (!std::is_void_v<T>) {
        constexpr bool text = std::is_same_v<T, std::string>;
        T into{};
        decode_error e;
        if (!keel::decode(value_of(r, text), into, e, "result")) throw_unexpected_result(e);
        co_return into;
    }
}

}  // namespace detail

}  // namespace keel
