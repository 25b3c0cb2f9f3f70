#pragma once

// A request that has found its handler: what is called with what, and how its reply becomes a result.

#include "protocol/methods.hpp"
#include "rpc/request.hpp"
#include "server/server_core.hpp"

#include <keel/context.hpp>
#include <keel/error.hpp>
#include <keel/handler.hpp>

#include <memory>
#include <string>

namespace keel::inline KEEL_ABI::server_side {

/// The parameters of a request that has none.
inline const json::value no_params;

/// One request as its era understands it. Refers to the message it came in.
struct incoming {
    rpc::serial id;
    protocol::method which;
    std::string_view name;  // of the method
    const json::value& params;
    protocol::revision rev;
};

/// Appends the result, as this revision knows it. May throw detail::bad_result.
using result_writer = void (*)(std::string& out, detail::reply& r, protocol::revision rev, const server_core& server,
                               const void* offer);

/// RES-05: a URI whose variables lead out of their folder. For the peer it is not found; the log hears why.
class refused_read : public resource_not_found {
public:
    using resource_not_found::resource_not_found;
};

struct invocation {
    std::shared_ptr<const void> offer;         // holds the handler
    const detail::handler* handler = nullptr;  // in `offer`
    result_writer write = nullptr;
    const json::value* input = nullptr;  // in the message, or `made`
    json::value made;

    const json::value& given() const noexcept { return input ? *input : made; }
};

// Who answers what. They throw keel::error or detail::bad_arguments when nobody does.
invocation find_tool(const incoming& in, const table<tool>& tools);
invocation find_resource(const incoming& in, const table<resource_offer>& resources,
                         const table<template_offer>& templates);
/// The list, where parts of it come from the user's functions.
invocation find_resource_list(const incoming& in, std::shared_ptr<const table<resource_offer>> resources,
                              std::shared_ptr<const table<template_offer>> templates, std::size_t page_size);
invocation find_prompt(const incoming& in, const table<prompt_offer>& prompts);
invocation find_completion(const incoming& in, const table<prompt_offer>& prompts,
                           const table<template_offer>& templates);
invocation find_method(const incoming& in, const table<method_offer>& methods);

/// What a failing handler means for the peer: a result for the model, or an error.
rpc::handler_outcome outcome_of_failure(std::exception_ptr thrown, bool told_to_stop, const incoming& in,
                                        const server_core& server);

/// The text of a tool's result under a revision.
void write_tool_result(std::string& out, const detail::reply& r, protocol::revision rev, const server_core& server);

/// Throws the error for invalid parameters of a request (-32602).
[[noreturn]] inline void invalid_params(const std::string& why) { throw error(error_code::invalid_params, why); }

/// The end of every result: in the modern revision it says who we are.
void end_result(std::string& out, protocol::revision rev, const server_core& server, std::string_view meta = {});
/// For how long it may be kept, and by whom.
void write_cache_hint(std::string& out, const cache_hint& hint);

}  // namespace keel::server_side
