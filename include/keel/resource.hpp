#pragma once

// Resources and resource templates: data that clients can read by URI.

#include <keel/context.hpp>
#include <keel/describe.hpp>
#include <keel/error.hpp>
#include <keel/handler.hpp>
#include <keel/types.hpp>

#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace keel::inline KEEL_ABI {

/// How long a client may cache a result, and whether it is the same for all users (revision 2026-07-28).
struct KEEL_API cache_hint {
    std::chrono::milliseconds ttl = std::chrono::milliseconds(0);
    bool shared = false;
};

/// Binary data, returned by a resource handler.
struct KEEL_API bytes {
    std::string data = {};
};

/// The complete result of reading a resource.
struct KEEL_API read_result {
    std::vector<resource_contents> contents;
    std::optional<cache_hint> cache;

    read_result() = default;
    read_result(std::vector<resource_contents> all) : contents(std::move(all)) {}
    read_result(resource_contents one) { contents.push_back(std::move(one)); }
};

/// The resource to read. `variables` are the percent-decoded variables of the template.
struct KEEL_API resource_request {
    std::string uri = {};
    std::map<std::string, std::string> variables = {};
};

/// Thrown by the handler of a template if the URI matches the template but the resource does not exist.
class KEEL_API resource_not_found : public error {
public:
    explicit resource_not_found(std::string uri);
    ~resource_not_found() override;
    const std::string& uri() const noexcept { return uri_; }

private:
    std::string uri_;
};

/// One page of the resources of a template. `next` is the cursor of the next page, or empty on the last page.
struct KEEL_API resource_page {
    std::vector<resource> resources = {};
    std::string next = {};
};

/// The text typed so far for an argument, and the arguments already chosen.
struct KEEL_API completion_request {
    std::string argument = {};
    std::string value = {};
    std::map<std::string, std::string> chosen = {};
};

/// Suggests values for an argument of a prompt or a variable of a template. Runs on a worker thread.
using completer = std::function<completion(context&, const completion_request&)>;

struct KEEL_API resource_options {
    bool quick = false;  // see tool_options
    std::optional<cache_hint> cache = {};
    bool replace = false;  // see tool_options
};

struct KEEL_API template_options {
    bool quick = false;  // see tool_options
    std::optional<cache_hint> cache = {};
    bool replace = false;  // see tool_options
    /// Lists the resources of the template, page by page, for the list of resources. `cursor` is empty for the first page. Runs on
    /// a worker thread.
    std::function<resource_page(context&, const std::string& cursor)> list = {};
    std::map<std::string, completer> complete = {};  // by variable
    /// Accepts variables with "..", absolute paths and the like. Only safe if the handler does not use them as file paths.
    bool allow_path_traversal = false;
};

namespace detail {

struct KEEL_API resource_entry {
    resource about;
    detail::handler handler;
    resource_options options;
};

struct KEEL_API template_entry {
    resource_template about;
    detail::handler handler;
    template_options options;
};

// The `input` of a resource handler is {"uri", "mimeType", "variables"}.
KEEL_API void write_contents(reply& out, const read_result& r);
KEEL_API void write_text_contents(reply& out, std::string_view text, const json::value& input);
KEEL_API void write_byte_contents(reply& out, std::string_view data, const json::value& input);

template <class R>
inline constexpr bool is_resource_value = std::is_same_v<R, read_result> || std::is_same_v<R, resource_contents> ||
                                          std::is_same_v<R, std::vector<resource_contents>> ||
                                          std::is_same_v<R, bytes> || std::is_convertible_v<R, std::string_view>;

struct resource_traits {
    static constexpr bool writes_without_input = false;  // it has the URI

    template <class Args>
    static Args read(const json::value& input) {
        if constexpr (std::is_same_v<Args, resource_request>) {
            resource_request in;
            in.uri = input["uri"].as_string();
            for (const json::member& m : input["variables"].members()) {
                in.variables.emplace(m.key(), m.content.as_string());
            }
            return in;
        } else {
            return read_described<Args>(input["variables"], "uri");
        }
    }

    template <class R>
    static void write(reply& out, const R& r, const json::value& input) {
        if constexpr (std::is_convertible_v<R, std::string_view>) {
            write_text_contents(out, std::string_view(r), input);
        } else if constexpr (std::is_same_v<R, bytes>) {
            write_byte_contents(out, r.data, input);
        } else if constexpr (std::is_same_v<R, read_result>) {
            write_contents(out, r);
        } else {
            write_contents(out, read_result(r));
        }
    }
};

template <class F>
handler make_resource_handler(F f, bool quick) {
    static_assert(!std::is_member_function_pointer_v<F>,
                  "keel: a member function needs its object: pass keel::bind_member(&type::function, &object)");
    static_assert(one_function<F> || std::is_member_function_pointer_v<F>,
                  "keel: a resource handler must be a function or an object with exactly one call operator");
    if constexpr (one_function<F>) {
        using s = signature<F>;
        using result = typename task_result<std::remove_cvref_t<typename s::result>>::type;
        static_assert(
            is_resource_value<result>,
            "keel: a resource handler must return std::string (text), keel::bytes, keel::resource_contents, a vector "
            "of these, keel::read_result, or a keel::task of one of these");
        if constexpr (s::takes_arguments) {
            static_assert(described<typename s::arguments> || std::is_same_v<typename s::arguments, resource_request>,
                          "keel: a resource handler must take keel::resource_request or a described struct of the "
                          "template's variables");
        }
        if constexpr (is_resource_value<result>) return make_handler<resource_traits>(std::move(f), quick);
    }
    return {};
}

}  // namespace detail

}  // namespace keel
