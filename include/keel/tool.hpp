#pragma once

// Tools: the open form, and how a typed function becomes one.

#include <keel/content.hpp>
#include <keel/context.hpp>
#include <keel/describe.hpp>
#include <keel/error.hpp>
#include <keel/task.hpp>

#include <functional>
#include <string>
#include <tuple>
#include <type_traits>

namespace keel {

struct tool_options {
    std::string title = {};
    /// The function returns at once: it runs on the loop itself instead of on a worker thread. It must never block.
    bool quick = false;
    json::value annotations = {};  // {"readOnlyHint": true, …}; null: none
    json::value meta = {};         // `_meta` of the tool; null: none
};

/// What clients are told of a tool.
struct tool_description {
    std::string name = {};
    std::string description = {};
    json::value input_schema = {};   // an object schema
    json::value output_schema = {};  // null: none
    tool_options options = {};
};

namespace detail {

/// A result on its way to the wire: JSON texts.
struct reply {
    std::string content;     // an array of blocks
    std::string structured;  // empty: none
    bool is_error = false;
};

/// Arguments that do not fit. The message names the path.
class bad_arguments : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A result that JSON cannot express: NaN, text that is not UTF-8.
class bad_result : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

using plain_tool = std::function<void(context*, const json::value& arguments, reply& out)>;
using task_tool = std::function<task<reply>(context, json::value arguments)>;

struct tool_entry {
    tool_description about;
    plain_tool plain;  // one of the two
    task_tool coroutine;
    bool wants_context = true;
};

void write_text(reply& out, std::string_view text);
void write_result(reply& out, const tool_result& r);
void write_number(reply& out, double d);
void write_number(reply& out, std::int64_t n);
void write_number(reply& out, std::uint64_t n);
/// `structured` holds the JSON text; its twin as text content is added.
void add_text_twin(reply& out);
[[noreturn]] void throw_unexpressible();
[[noreturn]] void throw_bad_arguments(const decode_error&);

template <class R>
struct task_result {
    using type = R;
    static constexpr bool is_task = false;
};
template <class R>
struct task_result<task<R>> {
    using type = R;
    static constexpr bool is_task = true;
};

template <class R>
inline constexpr bool is_tool_value =
    std::is_same_v<R, tool_result> || std::is_same_v<R, content> || std::is_same_v<R, std::vector<content>> ||
    std::is_convertible_v<R, std::string_view> || std::is_same_v<R, bool> || std::is_arithmetic_v<R> || described<R>;

template <class R>
void to_reply(reply& out, const R& r) {
    if constexpr (std::is_same_v<R, tool_result>) {
        write_result(out, r);
    } else if constexpr (std::is_same_v<R, content> || std::is_same_v<R, std::vector<content>>) {
        write_result(out, tool_result(r));
    } else if constexpr (std::is_convertible_v<R, std::string_view>) {
        write_text(out, std::string_view(r));
    } else if constexpr (std::is_same_v<R, bool>) {
        write_text(out, r ? "true" : "false");
    } else if constexpr (std::is_floating_point_v<R>) {
        write_number(out, static_cast<double>(r));
    } else if constexpr (std::is_unsigned_v<R>) {
        write_number(out, static_cast<std::uint64_t>(r));
    } else if constexpr (std::is_integral_v<R>) {
        write_number(out, static_cast<std::int64_t>(r));
    } else {
        if (!keel::write_json(out.structured, r)) throw_unexpressible();
        add_text_twin(out);
    }
}

/// The signatures a handler may have: R(), R(Args), R(context&), R(context&, Args).
template <class R, class... Ps>
struct call_shape {
    using result = R;
    static constexpr std::size_t count = sizeof...(Ps);
    static constexpr bool takes_context =
        count > 0 && std::is_same_v<std::tuple_element_t<0, std::tuple<Ps..., void>>, context&>;
    static constexpr std::size_t arguments_at = takes_context ? 1 : 0;
    static constexpr bool takes_arguments = count == arguments_at + 1;
    using arguments = std::remove_cvref_t<std::tuple_element_t<arguments_at, std::tuple<Ps..., void, void>>>;
    static_assert(count <= arguments_at + 1,
                  "keel: a tool takes (context&, Arguments), (Arguments), (context&) or nothing; put the arguments in "
                  "one struct");
};
template <class F>
struct signature : signature<decltype(&F::operator())> {};
template <class R, class C, class... Ps>
struct signature<R (C::*)(Ps...)> : call_shape<R, Ps...> {};
template <class R, class C, class... Ps>
struct signature<R (C::*)(Ps...) const> : call_shape<R, Ps...> {};
template <class R, class C, class... Ps>
struct signature<R (C::*)(Ps...) noexcept> : call_shape<R, Ps...> {};
template <class R, class C, class... Ps>
struct signature<R (C::*)(Ps...) const noexcept> : call_shape<R, Ps...> {};
template <class R, class... Ps>
struct signature<R (*)(Ps...)> : call_shape<R, Ps...> {};
template <class R, class... Ps>
struct signature<R (*)(Ps...) noexcept> : call_shape<R, Ps...> {};

template <class F>
concept has_one_call_operator = requires { &F::operator(); };

template <class Args>
Args read_arguments(const json::value& arguments) {
    if constexpr (std::is_same_v<Args, json::value>) {
        return arguments;
    } else {
        Args in{};
        decode_error e;
        if (!keel::decode(arguments, in, e, "arguments")) throw_bad_arguments(e);
        return in;
    }
}

/// Calls `f` with what it takes.
template <class S, class F>
decltype(auto) invoke_tool(F& f, context* ctx, const json::value& arguments) {
    if constexpr (S::takes_context && S::takes_arguments) {
        return f(*ctx, read_arguments<typename S::arguments>(arguments));
    } else if constexpr (S::takes_context) {
        return f(*ctx);
    } else if constexpr (S::takes_arguments) {
        return f(read_arguments<typename S::arguments>(arguments));
    } else {
        return f();
    }
}

// The arguments live in this frame, so that a handler may take them by reference.
template <class S, class F, class R>
task<reply> run_task_tool(F& f, context ctx, json::value arguments) {
    reply out;
    if constexpr (S::takes_arguments) {
        auto in = read_arguments<typename S::arguments>(arguments);
        if constexpr (S::takes_context) {
            R r = co_await f(ctx, std::move(in));
            to_reply(out, r);
        } else {
            R r = co_await f(std::move(in));
            to_reply(out, r);
        }
    } else if constexpr (S::takes_context) {
        R r = co_await f(ctx);
        to_reply(out, r);
    } else {
        R r = co_await f();
        to_reply(out, r);
    }
    co_return out;
}

json::value empty_object_schema();

template <class F>
tool_entry make_tool(std::string name, std::string description, F f, tool_options options) {
    static_assert(std::is_pointer_v<F> || has_one_call_operator<F>,
                  "keel: a tool is a function or an object with exactly one call operator (no generic lambda)");
    if constexpr (std::is_pointer_v<F> || has_one_call_operator<F>) {
        using s = signature<F>;
        using returned = task_result<std::remove_cvref_t<typename s::result>>;
        using result = typename returned::type;
        static_assert(
            is_tool_value<result>,
            "keel: a tool returns std::string, keel::content, keel::tool_result, a number, a described struct "
            "(KEEL_DESCRIBE), or a keel::task of one of these");
        tool_entry entry;
        entry.about = {std::move(name), std::move(description), {}, {}, std::move(options)};
        entry.wants_context = s::takes_context || returned::is_task;
        if constexpr (s::takes_arguments) {
            static_assert(described<typename s::arguments> || std::is_same_v<typename s::arguments, json::value>,
                          "keel: the arguments of a tool are one struct with KEEL_DESCRIBE(type, members...)");
            if constexpr (described<typename s::arguments>)
                entry.about.input_schema = keel::schema_of<typename s::arguments>();
        }
        if (entry.about.input_schema.is_null()) entry.about.input_schema = empty_object_schema();
        if constexpr (described<result>) entry.about.output_schema = keel::schema_of<result>();
        if constexpr (is_tool_value<result>) {
            if constexpr (returned::is_task) {
                entry.coroutine = [f = std::move(f)](context ctx, json::value arguments) mutable {
                    return run_task_tool<s, F, result>(f, std::move(ctx), std::move(arguments));
                };
            } else {
                entry.plain = [f = std::move(f)](context* ctx, const json::value& arguments, reply& out) mutable {
                    to_reply<result>(out, invoke_tool<s>(f, ctx, arguments));
                };
            }
        }
        return entry;
    } else {
        return {};
    }
}

}  // namespace detail

}  // namespace keel
