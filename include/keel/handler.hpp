#pragma once

// Turns a user's function into the handler of a request. Shared by tools, resources and prompts; their traits define which
// arguments and results a function may have.

#include <keel/context.hpp>
#include <keel/describe.hpp>
#include <keel/task.hpp>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::detail {

/// The owner of the input of a handler. The input of a tool is no longer needed when the tool has returned; a large one is freed before
/// its result is written.
class KEEL_API input_owner {
public:
    virtual void release_input() = 0;

protected:
    ~input_owner() = default;
};

/// A result as JSON text. The contents of the members depend on the kind of handler.
struct KEEL_API reply {
    std::string content;     // tools: an array of blocks; resources: of contents; prompts: of messages
    std::string structured;  // tools: structured content; empty: none
    std::string extra;       // further members of the result, each with a comma before it
    std::string meta;        // `_meta`, an object; empty: none
    bool is_error = false;
    bool only_text = true;         // contains only text blocks, which every revision supports
    input_owner* input = nullptr;  // null: the input cannot be released
};

/// Invalid arguments. The message contains each error with its path, one per line.
class KEEL_API bad_arguments : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    ~bad_arguments() override;
};

/// A result that cannot be sent: NaN, invalid UTF-8, structured content that does not match its schema.
class KEEL_API bad_result : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    ~bad_result() override;
};

using plain_handler = std::function<void(context*, const json::value& input, reply& out)>;
using task_handler = std::function<task<reply>(context, json::value input)>;

struct KEEL_API handler {
    plain_handler plain = {};  // either this or `coroutine` is set
    task_handler coroutine = {};
    bool wants_context = true;
    bool quick = false;            // a plain handler that never blocks: runs on the loop
    handler_executor run_on = {};  // for a plain handler that is not quick; empty: that of the server

    explicit operator bool() const noexcept { return plain || coroutine; }
};

/// Sets `_meta` of the result. Throws bad_result unless it is an object or null.
KEEL_API void write_meta(reply& out, const json::value& meta);
[[noreturn]] KEEL_API void throw_unexpressible();
[[noreturn]] KEEL_API void throw_bad_arguments(const std::vector<decode_error>&);
/// Throws bad_arguments with all errors. `into` is partly filled.
[[noreturn]] KEEL_API void throw_bad_arguments(const type_table&, const json::value& from, void* into,
                                               std::string_view prefix);

template <class Args>
Args read_described(const json::value& from, std::string_view prefix) {
    Args in{};
    decode_error e;
    if (!keel::decode(from, in, e, prefix)) throw_bad_arguments(type_for<Args>, from, std::addressof(in), prefix);
    return in;
}

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

/// The signatures a handler may have: R(), R(Args), R(context&), R(context&, Args). The context may also be a copy or const.
template <class R, class... Ps>
struct call_shape {
    template <std::size_t I>
    using parameter = std::tuple_element_t<I, std::tuple<Ps..., void, void>>;
    using result = R;
    static constexpr std::size_t count = sizeof...(Ps);
    static constexpr bool takes_context = count > 0 && std::is_same_v<std::remove_cvref_t<parameter<0>>, context>;
    static constexpr std::size_t arguments_at = takes_context ? 1 : 0;
    static constexpr bool takes_arguments = count == arguments_at + 1;
    using arguments = std::remove_cvref_t<parameter<arguments_at>>;
    static_assert(count <= arguments_at + 1,
                  "keel: a handler must take (context&, Arguments), (Arguments), (context&) or no parameters; put all "
                  "arguments in one struct");
    static_assert(!takes_context || !std::is_rvalue_reference_v<parameter<0>>,
                  "keel: a handler must take its context by reference or by value");
    static_assert(!takes_arguments || !std::is_lvalue_reference_v<parameter<arguments_at>> ||
                      std::is_const_v<std::remove_reference_t<parameter<arguments_at>>>,
                  "keel: a handler must take its arguments by value or by const reference");
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

/// A member function with its object: see keel::bind_member.
template <class F, class Object>
struct member_call {
    F function;
    Object object;

    template <class... Ps>
    decltype(auto) operator()(Ps&&... ps) const {
        return std::invoke(function, object, std::forward<Ps>(ps)...);
    }
};
template <class F, class Object>
struct signature<member_call<F, Object>> : signature<F> {};

/// A function that cannot be copied, for std::function, which must be copyable.
template <class F>
struct shared_call {
    std::shared_ptr<F> function;

    template <class... Ps>
    decltype(auto) operator()(Ps&&... ps) const {
        return (*function)(std::forward<Ps>(ps)...);
    }
};
template <class F>
struct signature<shared_call<F>> : signature<F> {};

template <class F>
inline constexpr bool is_member_call = false;
template <class F, class Object>
inline constexpr bool is_member_call<member_call<F, Object>> = true;

template <class F>
concept has_one_call_operator = requires { &F::operator(); };
template <class F>
concept one_function = std::is_pointer_v<F> || is_member_call<F> || has_one_call_operator<F>;

/// Calls `f` with the parameters that it takes.
template <class Traits, class S, class F>
decltype(auto) invoke_plain(F& f, context* ctx, const json::value& input) {
    if constexpr (S::takes_context && S::takes_arguments) {
        return f(*ctx, Traits::template read<typename S::arguments>(input));
    } else if constexpr (S::takes_context) {
        return f(*ctx);
    } else if constexpr (S::takes_arguments) {
        return f(Traits::template read<typename S::arguments>(input));
    } else {
        return f();
    }
}

// The context and the arguments are in this coroutine frame, so that a handler may take them by reference.
template <class Traits, class S, class F, class R>
task<reply> run_task(F& f, context ctx, json::value input) {
    reply out;
    if constexpr (S::takes_arguments) {
        auto in = Traits::template read<typename S::arguments>(input);
        if constexpr (Traits::writes_without_input) input = json::value();  // it may be large
        if constexpr (std::is_void_v<R>) {
            if constexpr (S::takes_context) co_await f(ctx, std::move(in));
            else co_await f(std::move(in));
            Traits::write_nothing(out);
        } else if constexpr (S::takes_context) {
            R r = co_await f(ctx, std::move(in));
            Traits::write(out, r, input);
        } else {
            R r = co_await f(std::move(in));
            Traits::write(out, r, input);
        }
    } else if constexpr (std::is_void_v<R>) {
        if constexpr (S::takes_context) co_await f(ctx);
        else co_await f();
        Traits::write_nothing(out);
    } else if constexpr (S::takes_context) {
        R r = co_await f(ctx);
        Traits::write(out, r, input);
    } else {
        R r = co_await f();
        Traits::write(out, r, input);
    }
    co_return out;
}

/// Traits: `template <class Args> static Args read(const json::value& input)`,
/// `template <class R> static void write(reply&, const R&, const json::value& input)`, `static constexpr bool writes_without_input` (the
/// last parameter is not used), and `static void write_nothing(reply&)` if a handler may return void.
template <class Traits, class F>
handler make_handler(F f, bool quick) {
    if constexpr (!std::is_copy_constructible_v<F>) {
        return make_handler<Traits>(shared_call<F>{std::make_shared<F>(std::move(f))}, quick);
    } else {
        using s = signature<F>;
        using returned = task_result<std::remove_cvref_t<typename s::result>>;
        using result = typename returned::type;
        handler made;
        made.wants_context = s::takes_context || returned::is_task;
        made.quick = quick && !returned::is_task;
        if constexpr (returned::is_task) {
            made.coroutine = [f = std::move(f)](context ctx, json::value input) mutable {
                return run_task<Traits, s, F, result>(f, std::move(ctx), std::move(input));
            };
        } else if constexpr (std::is_void_v<result>) {
            made.plain = [f = std::move(f)](context* ctx, const json::value& input, reply& out) mutable {
                invoke_plain<Traits, s>(f, ctx, input);
                Traits::write_nothing(out);
            };
        } else {
            made.plain = [f = std::move(f)](context* ctx, const json::value& input, reply& out) mutable {
                decltype(auto) r = invoke_plain<Traits, s>(f, ctx, input);
                if constexpr (Traits::writes_without_input) {
                    if (out.input) out.input->release_input();
                }
                Traits::template write<result>(out, r, input);
            };
        }
        return made;
    }
}

}  // namespace keel::detail

namespace keel::inline KEEL_ABI {

/// A member function as the handler of a tool, resource or prompt: `server.add_tool("add", "Adds", keel::bind_member(&shop::add,
/// &store))`. `object` is a pointer or a std::shared_ptr. A pointer must stay valid until the server has stopped.
template <class F, class Object>
auto bind_member(F function, Object object) {
    static_assert(std::is_member_function_pointer_v<F>, "keel: bind_member takes a pointer to a member function first");
    static_assert(requires { *object; }, "keel: bind_member takes a pointer or std::shared_ptr to the object");
    return detail::member_call<F, Object>{function, std::move(object)};
}

}  // namespace keel
