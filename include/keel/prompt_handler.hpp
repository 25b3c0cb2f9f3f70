#pragma once

// Prompts: their options, and how a function becomes a prompt. keel/prompt.hpp has the result types.

#include <keel/context.hpp>
#include <keel/describe.hpp>
#include <keel/handler.hpp>
#include <keel/prompt.hpp>
#include <keel/resource.hpp>

#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace keel::inline KEEL_ABI {

struct KEEL_API prompt_options {
    std::string title = {};
    bool quick = false;  // see tool_options
    std::vector<icon> icons = {};
    json::value meta = {};
    std::map<std::string, completer> complete = {};  // by argument
    bool replace = false;                            // see tool_options
};

using prompt_arguments = std::map<std::string, std::string>;

namespace detail {

struct KEEL_API prompt_entry {
    prompt about;
    detail::handler handler;
    std::map<std::string, completer> complete;
    bool replace = false;
};

KEEL_API void write_prompt(reply& out, const prompt_result& r);
/// The arguments of a prompt from the members of a described struct.
KEEL_API std::vector<prompt_argument> arguments_of(const struct_table& fields);

template <class R>
inline constexpr bool is_prompt_value =
    std::is_same_v<R, prompt_result> || std::is_same_v<R, std::vector<prompt_message>> ||
    std::is_same_v<R, prompt_message> || std::is_convertible_v<R, std::string_view>;

struct prompt_traits {
    static constexpr bool writes_without_input = false;

    template <class Args>
    static Args read(const json::value& arguments) {
        if constexpr (std::is_same_v<Args, prompt_arguments>) {
            prompt_arguments in;
            for (const json::member& m : arguments.members()) in.emplace(m.key(), m.content.as_string());
            return in;
        } else {
            return read_described<Args>(arguments, "arguments");
        }
    }

    template <class R>
    static void write(reply& out, const R& r, const json::value&) {
        if constexpr (std::is_same_v<R, prompt_result>) write_prompt(out, r);
        else if constexpr (std::is_convertible_v<R, std::string_view>)
            write_prompt(out, prompt_result(std::string(std::string_view(r))));
        else write_prompt(out, prompt_result(r));
    }
};

template <class F>
prompt_entry make_prompt(prompt about, F f, prompt_options options) {
    static_assert(!std::is_member_function_pointer_v<F>,
                  "keel: a member function needs its object: pass keel::bind_member(&type::function, &object)");
    static_assert(one_function<F> || std::is_member_function_pointer_v<F>,
                  "keel: a prompt must be a function or an object with exactly one call operator");
    prompt_entry entry;
    if constexpr (one_function<F>) {
        using s = signature<F>;
        using result = typename task_result<std::remove_cvref_t<typename s::result>>::type;
        static_assert(is_prompt_value<result>,
                      "keel: a prompt must return std::string, keel::prompt_message, a vector of these, "
                      "keel::prompt_result, or a keel::task of one of these");
        if constexpr (s::takes_arguments) {
            static_assert(described<typename s::arguments> || std::is_same_v<typename s::arguments, prompt_arguments>,
                          "keel: the arguments of a prompt must be one struct with KEEL_DESCRIBE(type, members...), or "
                          "keel::prompt_arguments");
            if constexpr (described<typename s::arguments>) {
                about.arguments = arguments_of(struct_table_of<typename s::arguments>());
            }
        }
        entry.about = std::move(about);
        entry.complete = std::move(options.complete);
        entry.replace = options.replace;
        if constexpr (is_prompt_value<result>) entry.handler = make_handler<prompt_traits>(std::move(f), options.quick);
    }
    return entry;
}

}  // namespace detail

}  // namespace keel
