#pragma once

// A request with the handler that serves it, the handler's input, and the function that writes the result.

#include "protocol/methods.hpp"
#include "rpc/request.hpp"
#include "server/server_core.hpp"

#include <keel/context.hpp>
#include <keel/error.hpp>
#include <keel/handler.hpp>

#include <memory>
#include <string>

namespace keel::inline KEEL_ABI::detail {
struct call_state;
}

namespace keel::inline KEEL_ABI::server_side {

/// The parameters of a request that has none.
inline const json::value no_params;

/// One received request. Refers to its message, which must outlive it.
struct incoming {
    rpc::serial id;
    protocol::method which;
    std::string_view name;  // of the method
    const json::value& params;
    protocol::revision rev;
};

/// What is around `reply::content` in a result. The content may be large: it is not copied to join the parts.
struct result_text {
    std::string before;
    std::string after;

    void clear() noexcept {
        before.clear();
        after.clear();
    }
};
/// The whole result.
std::string join(const result_text& around, std::string content);

/// Appends what is around the content in the format of the revision, and may change the content. May throw detail::bad_result.
using result_writer = void (*)(result_text& out, detail::reply& r, protocol::revision rev, const server_core& server,
                               const void* offer);

/// RES-05: the variables of a URI leave their folder. The peer gets "resource not found"; the log has the reason.
class refused_read : public resource_not_found {
public:
    using resource_not_found::resource_not_found;
};

struct invocation {
    std::shared_ptr<const void> offer;         // owns the handler
    const detail::handler* handler = nullptr;  // in `offer`
    result_writer write = nullptr;
    const json::value* input = nullptr;  // points into the message; null: use `made`
    json::value made;

    const json::value& given() const noexcept { return input ? *input : made; }
};

// Each finds the handler for a request. They throw keel::error or detail::bad_arguments if there is none.
/// The tool that a request names.
const std::shared_ptr<const tool>& named_tool(const incoming& in, const table<tool>& tools);
invocation call_of_tool(const incoming& in, const std::shared_ptr<const tool>& called);
invocation find_resource(const incoming& in, const table<resource_offer>& resources,
                         const table<template_offer>& templates);
/// For resources/list with templates whose `list` functions add entries.
invocation find_resource_list(const incoming& in, std::shared_ptr<const table<resource_offer>> resources,
                              std::shared_ptr<const table<template_offer>> templates, std::size_t page_size);
invocation find_prompt(const incoming& in, const table<prompt_offer>& prompts);
invocation find_completion(const incoming& in, const table<prompt_offer>& prompts,
                           const table<template_offer>& templates);
invocation find_method(const incoming& in, const table<method_offer>& methods);

/// Maps an exception of a handler to a tool-level error (`isError`) or a protocol error.
rpc::handler_outcome outcome_of_failure(std::exception_ptr thrown, bool told_to_stop, protocol::method which,
                                        protocol::revision rev, const server_core& server);
/// The same for a request that has a `call_state`. Safe to call from any thread.
rpc::handler_outcome outcome_of_failure(std::exception_ptr thrown, const detail::call_state& call);
/// Returns the text of a result. On the loop of the request only. Logs and throws keel::error for a failure, and throws keel::cancelled if there is no answer.
std::string result_of(rpc::handler_outcome outcome, rpc::request& request, const server_core& server);

/// The result_writer of tools, without the validation of structured content.
void write_tool_result(result_text& out, detail::reply& r, protocol::revision rev, const server_core& server);

/// Throws the error for invalid parameters of a request (-32602).
[[noreturn]] inline void invalid_params(const std::string& why) { throw error(error_code::invalid_params, why); }

/// Appends the end of a result; in 2026-07-28 with the server's name and version.
void end_result(std::string& out, protocol::revision rev, const server_core& server, std::string_view meta = {});
/// Appends `ttlMs` and `cacheScope`.
void write_cache_hint(std::string& out, const cache_hint& hint);

}  // namespace keel::server_side
