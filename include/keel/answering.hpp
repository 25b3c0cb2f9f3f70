#pragma once

// Handlers for requests from a server to a client: sampling, forms and URLs (elicitation). A handler is a plain function, which
// runs on a worker thread and may block, or a coroutine, which runs on the client's loop.

#include <keel/asking.hpp>
#include <keel/error.hpp>
#include <keel/sampling.hpp>
#include <keel/task.hpp>
#include <keel/types.hpp>

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

namespace keel::inline KEEL_ABI {

/// The server that asks, and whether the request was cancelled. Cheap to copy; safe to use from any thread.
class KEEL_API asked_by {
public:
    asked_by() = default;
    asked_by(std::string server_name, std::stop_token stop) : server_(std::move(server_name)), stop_(std::move(stop)) {}

    /// The name that the server reported, to be shown to the user. It is not authenticated.
    const std::string& server_name() const noexcept { return server_; }
    /// True if the server cancelled its request or the connection is closed.
    bool cancelled() const noexcept { return stop_.stop_requested(); }
    std::stop_token stop_token() const noexcept { return stop_; }

private:
    std::string server_;
    std::stop_token stop_;
};

/// A form that the user fills in. `schema` is a flat object schema of strings, numbers, booleans and enums.
struct KEEL_API form_question {
    std::string message = {};
    json::value schema = {};
    json::value meta = {};
};

/// The user's answer to a form. Members that `values` lacks are filled with the defaults of the schema.
struct KEEL_API form_answer {
    elicit_action action = elicit_action::cancel;
    json::value values = {};  // an object, when accepted

    form_answer() = default;
    form_answer(elicit_action a) : action(a) {}
    /// Accepted.
    form_answer(json::value v) : action(elicit_action::accept), values(std::move(v)) {}
};

/// A URL to open in a browser if the user agrees. Show the complete URL to the user first; the program must not fetch it.
struct KEEL_API url_question {
    std::string message = {};
    std::string url = {};
    std::string id = {};  // revision 2025-11-25
    json::value meta = {};
};

/// A function that answers a request. Constructed from `f(asked_by, Question)` or `f(Question)` that returns Answer or
/// task<Answer>.
template <class Answer, class Question>
class question_handler {
public:
    using plain = std::function<Answer(const asked_by&, const Question&)>;
    using coroutine = std::function<task<Answer>(asked_by, Question)>;

    question_handler() = default;
    question_handler(std::nullptr_t) {}
    template <class F>
        requires(!std::is_same_v<std::remove_cvref_t<F>, question_handler> &&
                 (std::is_invocable_v<F&, asked_by, Question> || std::is_invocable_v<F&, Question>))
    question_handler(F f) {
        constexpr bool with_asker = std::is_invocable_v<F&, asked_by, Question>;
        using result = typename invoked<F, with_asker>::type;
        if constexpr (detail::is_task_of<result>) {
            if constexpr (with_asker) coroutine_ = std::move(f);
            else coroutine_ = [f = std::move(f)](asked_by, Question q) mutable { return f(std::move(q)); };
        } else {
            if constexpr (with_asker) plain_ = std::move(f);
            else plain_ = [f = std::move(f)](const asked_by&, const Question& q) mutable { return f(q); };
        }
    }

    explicit operator bool() const noexcept { return plain_ || coroutine_; }
    const plain& function() const noexcept { return plain_; }
    const coroutine& task_function() const noexcept { return coroutine_; }

private:
    template <class F, bool WithAsker>
    struct invoked {
        using type = std::invoke_result_t<F&, asked_by, Question>;
    };
    template <class F>
    struct invoked<F, false> {
        using type = std::invoke_result_t<F&, Question>;
    };

    plain plain_;
    coroutine coroutine_;
};

/// To report that the user refused, throw keel::error(-1, "…").
using sampling_handler = question_handler<sampling_result, sampling_request>;
using form_handler = question_handler<form_answer, form_question>;
using url_handler = question_handler<elicit_action, url_question>;

}  // namespace keel
