#pragma once

// Tools: their options, and how a function becomes a tool.

#include <keel/content.hpp>
#include <keel/context.hpp>
#include <keel/describe.hpp>
#include <keel/error.hpp>
#include <keel/handler.hpp>
#include <keel/types.hpp>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace keel::inline KEEL_ABI {

/// Thrown by a tool to report a tool-level error (`isError`): a result with a text for the model, not a protocol error.
class KEEL_API tool_failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    ~tool_failure() override;
};

struct KEEL_API tool_options {
    std::string title = {};
    /// Runs the function on the loop instead of on a worker thread. It must return quickly and never block.
    bool quick = false;
    /// Runs a plain function there instead of on a worker thread; empty: server_options::run_on. Not with `quick`, and not for
    /// coroutines, which always run on the loop.
    handler_executor run_on = {};
    tool_annotations annotations = {};
    std::vector<icon> icons = {};
    json::value meta = {};  // `_meta` of the tool; null: none
    /// Whether `format` in the input schema (date, email, uri, …) is validated; otherwise it is an annotation.
    bool check_formats = true;
    /// Replaces a tool with the same name. Without it, adding a tool with a name that exists throws std::invalid_argument.
    bool replace = false;
};

/// A tool as clients see it, for tools that are defined at run time.
struct KEEL_API tool_description {
    std::string name = {};
    std::string description = {};
    json::value input_schema = {};   // an object schema; arguments are validated against it
    json::value output_schema = {};  // null: none; structured content is validated against it
    tool_options options = {};
};

namespace detail {

struct KEEL_API tool_entry {
    tool_description about;
    detail::handler handler;
    // Typed tools need no validation if decoding checks everything, or if the type of the result ensures its schema.
    bool check_input = true;
    bool check_output = true;
    /// The errors of decoding, which may find more than the schema: in types with their own conversion, for example. Null: none.
    std::vector<decode_error> (*decode_errors)(const json::value& arguments) = nullptr;
};

KEEL_API void write_text(reply& out, std::string_view text);
KEEL_API void write_result(reply& out, const tool_result& r);
KEEL_API void write_number(reply& out, double d);
KEEL_API void write_number(reply& out, std::int64_t n);
KEEL_API void write_number(reply& out, std::uint64_t n);
/// Adds a text block with the JSON text of `structured`.
KEEL_API void add_text_twin(reply& out);

/// Results that are content blocks, without structured output.
template <class R>
inline constexpr bool is_plain_result =
    std::is_void_v<R> || std::is_same_v<R, tool_result> || std::is_same_v<R, content> ||
    std::is_same_v<R, std::vector<content>> || std::is_convertible_v<R, std::string_view> || std::is_arithmetic_v<R>;

/// Results that are structured output: whatever a described member may be. (The elements of lists are checked by type_for.)
template <class R>
constexpr bool is_structured_result() noexcept {
    if constexpr (is_plain_result<R> || std::is_pointer_v<R> || std::is_reference_v<R>) return false;
    else if constexpr (shape_of<R>() == shape::object) return described<R>;
    else if constexpr (shape_of<R>() == shape::enumeration) return described_enum<R>;
    else return true;
}
template <class R>
inline constexpr bool is_tool_value = is_plain_result<R> || is_structured_result<R>();

struct tool_traits {
    template <class Args>
    static Args read(const json::value& arguments) {
        if constexpr (std::is_same_v<Args, json::value>) return arguments;
        else return read_described<Args>(arguments, "arguments");
    }

    static constexpr bool writes_without_input = true;

    static void write_nothing(reply&) {}

    template <class R>
    static void write(reply& out, const R& r, const json::value&) {
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
};

KEEL_API json::value empty_object_schema();
/// The schema of structured output. A variant of structs gets "type": "object", which revisions before 2026-07-28 require.
KEEL_API json::value output_schema_of(const type_table&);
/// Whether the type of a result does not ensure everything that its schema requires: it has a `pattern`.
KEEL_API bool needs_output_check(const json::value& schema);

template <class Args>
std::vector<decode_error> argument_errors(const json::value& arguments) {
    Args in{};
    return all_decode_errors(type_for<Args>, arguments, std::addressof(in), "arguments");
}

template <class F>
tool_entry make_tool(std::string name, std::string description, F f, tool_options options) {
    static_assert(!std::is_member_function_pointer_v<F>,
                  "keel: a member function needs its object: pass keel::bind_member(&type::function, &object)");
    static_assert(one_function<F> || std::is_member_function_pointer_v<F>,
                  "keel: a tool must be a function or an object with exactly one call operator (no generic lambda)");
    tool_entry entry;
    if constexpr (one_function<F>) {
        using s = signature<F>;
        using result = typename task_result<std::remove_cvref_t<typename s::result>>::type;
        static_assert(
            is_tool_value<result>,
            "keel: a tool must return std::string, keel::content, keel::tool_result, a number, void, json::value, a "
            "described struct (KEEL_DESCRIBE in its namespace), std::vector, optional, map or variant of these, or "
            "a keel::task of one of these");
        bool quick = options.quick;
        entry.about = {std::move(name), std::move(description), {}, {}, std::move(options)};
        entry.check_input = false;
        constexpr bool valid_arguments = !s::takes_arguments || described<typename s::arguments> ||
                                         std::is_same_v<typename s::arguments, json::value>;
        static_assert(
            valid_arguments,
            "keel: the arguments of a tool must be one struct with KEEL_DESCRIBE(type, members...) in its namespace");
        if constexpr (s::takes_arguments && described<typename s::arguments>) {
            entry.about.input_schema = keel::schema_of<typename s::arguments>();
            entry.check_input = !decoding_checks_all(type_for<typename s::arguments>);
            entry.decode_errors = &argument_errors<typename s::arguments>;
        }
        if (entry.about.input_schema.is_null()) entry.about.input_schema = empty_object_schema();
        if constexpr (is_structured_result<result>() && !std::is_same_v<result, json::value>) {
            entry.about.output_schema = output_schema_of(type_for<result>);
        }
        entry.check_output = needs_output_check(entry.about.output_schema);
        if constexpr (is_tool_value<result> && valid_arguments)
            entry.handler = make_handler<tool_traits>(std::move(f), quick);
    }
    return entry;
}

}  // namespace detail

}  // namespace keel
