#pragma once

// Tools: their options, and how a function becomes a tool.

#include <keel/content.hpp>
#include <keel/context.hpp>
#include <keel/describe.hpp>
#include <keel/error.hpp>
#include <keel/handler.hpp>
#include <keel/types.hpp>

#include <string>
#include <type_traits>

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
    tool_annotations annotations = {};
    std::vector<icon> icons = {};
    json::value meta = {};  // `_meta` of the tool; null: none
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
    /// Decoding validates the arguments completely: no schema validation is needed.
    bool decoding_suffices = false;
};

KEEL_API void write_text(reply& out, std::string_view text);
KEEL_API void write_result(reply& out, const tool_result& r);
KEEL_API void write_number(reply& out, double d);
KEEL_API void write_number(reply& out, std::int64_t n);
KEEL_API void write_number(reply& out, std::uint64_t n);
/// Adds a text block with the JSON text of `structured`.
KEEL_API void add_text_twin(reply& out);

template <class R>
inline constexpr bool is_tool_value =
    std::is_same_v<R, tool_result> || std::is_same_v<R, content> || std::is_same_v<R, std::vector<content>> ||
    std::is_convertible_v<R, std::string_view> || std::is_same_v<R, bool> || std::is_arithmetic_v<R> || described<R>;

struct tool_traits {
    template <class Args>
    static Args read(const json::value& arguments) {
        if constexpr (std::is_same_v<Args, json::value>) return arguments;
        else return read_described<Args>(arguments, "arguments");
    }

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
/// Whether decoding validates everything that the schema of a described struct requires. It does not check `pattern`.
KEEL_API bool decoding_checks_all(const json::value& schema);

template <class F>
tool_entry make_tool(std::string name, std::string description, F f, tool_options options) {
    static_assert(one_function<F>,
                  "keel: a tool must be a function or an object with exactly one call operator (no generic lambda)");
    tool_entry entry;
    if constexpr (one_function<F>) {
        using s = signature<F>;
        using result = typename task_result<std::remove_cvref_t<typename s::result>>::type;
        static_assert(
            is_tool_value<result>,
            "keel: a tool must return std::string, keel::content, keel::tool_result, a number, a described struct "
            "(KEEL_DESCRIBE), or a keel::task of one of these");
        bool quick = options.quick;
        entry.about = {std::move(name), std::move(description), {}, {}, std::move(options)};
        entry.decoding_suffices = true;
        if constexpr (s::takes_arguments) {
            static_assert(described<typename s::arguments> || std::is_same_v<typename s::arguments, json::value>,
                          "keel: the arguments of a tool must be one struct with KEEL_DESCRIBE(type, members...)");
            if constexpr (described<typename s::arguments>) {
                entry.about.input_schema = keel::schema_of<typename s::arguments>();
                entry.decoding_suffices = decoding_checks_all(entry.about.input_schema);
            }
        }
        if (entry.about.input_schema.is_null()) entry.about.input_schema = empty_object_schema();
        if constexpr (described<result>) entry.about.output_schema = keel::schema_of<result>();
        if constexpr (is_tool_value<result>) entry.handler = make_handler<tool_traits>(std::move(f), quick);
    }
    return entry;
}

}  // namespace detail

}  // namespace keel
