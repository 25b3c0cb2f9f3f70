// keel call

#include "arguments.hpp"
#include "commands.hpp"
#include "exit_status.hpp"
#include "show.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>

namespace keel::command {

namespace {

// Timeout of the tools/list request if the call does not depend on its result.
constexpr duration time_to_look = std::chrono::seconds(5);

/// Null if the server does not list the tool.
json::value schema_of(command_session& s, const std::string& tool_name) {
    try {
        for (tool& each : s.client().list_tools(s.call())) {
            if (each.name == tool_name) return std::move(each.input_schema);
        }
    } catch (const error& e) {
        // A server may have tools that it does not list: the call decides.
        if (e.kind() != error_kind::rejected && e.kind() != error_kind::unavailable) throw;
    }
    return {};
}

/// Requests the first page of tools, so that the client can check the result against the tool's output schema. If that
/// fails, the result is not checked.
void fetch_output_schemas(command_session& s) {
    call_options how = s.call();
    how.idle = how.total = how.total == duration{} ? time_to_look : std::min(how.total, time_to_look);
    try {
        s.client().list_tools_page(std::nullopt, how);
    } catch (const error& e) {
        if (e.kind() == error_kind::closed || e.kind() == error_kind::cancelled) throw;
    }
}

}  // namespace

int call_tool(command_session& s) {
    const std::string& name = s.how().words[0];
    given_arguments given(std::span(s.how().words).subspan(1));
    // Over HTTP some arguments may also be sent as headers: the client must know the tool's schema for that.
    bool look_first = given.needs_schema() || !s.how().url.empty();
    json::value arguments = given.with_schema(look_first ? schema_of(s, name) : json::value());
    if (!look_first && !s.how().json) fetch_output_schemas(s);
    if (s.how().json) {
        json::value result = s.client().request(
            "tools/call", json::object({{"name", name}, {"arguments", std::move(arguments)}}), s.call());
        s.screen().clear_status();
        write_json(result);
        return result["isError"].if_bool().value_or(false) ? exit_status::tool_failed : exit_status::ok;
    }
    tool_result result = s.client().call_tool(name, std::move(arguments), s.call());
    s.screen().clear_status();
    write_out(shown(result));
    if (!result.is_error) return exit_status::ok;
    s.screen().say("keel: the tool reported an error (isError)");
    return exit_status::tool_failed;
}

}  // namespace keel::command
