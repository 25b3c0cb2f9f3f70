// keel call

#include "argument_editor.hpp"
#include "arguments.hpp"
#include "commands.hpp"
#include "exit_status.hpp"
#include "schema_properties.hpp"
#include "show.hpp"
#include "suggest.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace keel::command {

namespace {

// Timeout of the tools/list request if the call does not depend on its result.
constexpr duration time_to_look = std::chrono::seconds(5);

/// Requests the first page of tools, so that the client can check the result against the tool's output schema. If that
/// fails, the result is not checked.
void fetch_output_schemas(command_session& s, const std::string& tool_name) {
    call_options how = s.call();
    how.idle = how.total = how.total == duration{} ? time_to_look : std::min(how.total, time_to_look);
    try {
        std::vector<std::string> known;
        for (tool& each : s.client().list_tools_page(std::nullopt, how).items) known.push_back(std::move(each.name));
        // Shown if the server rejects the call.
        if (std::find(known.begin(), known.end(), tool_name) == known.end()) s.set_hint(did_you_mean(tool_name, known));
    } catch (const error& e) {
        if (e.kind() == error_kind::closed || e.kind() == error_kind::cancelled) throw;
    }
}

/// The input schema of the tool; null if the server does not list it. `needed`: the call depends on it, so wait for the list as long
/// as for the call.
json::value schema_of(command_session& s, const std::string& tool_name, bool needed) {
    call_options how = s.call();
    if (!needed) how.idle = how.total = how.total == duration{} ? time_to_look : std::min(how.total, time_to_look);
    std::vector<std::string> known;
    try {
        for (tool& each : s.client().list_tools(how)) {
            if (each.name == tool_name) return std::move(each.input_schema);
            known.push_back(std::move(each.name));
        }
    } catch (const error& e) {
        // A server may have tools that it does not list: the call decides.
        bool ignored = e.kind() == error_kind::rejected || e.kind() == error_kind::unavailable ||
                       (!needed && e.kind() != error_kind::closed && e.kind() != error_kind::cancelled);
        if (!ignored) throw;
    }
    s.set_hint(did_you_mean(tool_name, known));  // shown if the server rejects the call
    return {};
}

}  // namespace

int call_tool(command_session& s) {
    const std::string& name = s.how().words[0];
    given_arguments given(std::span(s.how().words).subspan(1));
    // Over HTTP some arguments may also be sent as headers: the client must know the tool's schema for that.
    bool needed = given.needs_schema() || !s.how().url.empty() || s.how().edit;
    bool look_first = needed || !given.empty();
    json::value schema = look_first ? schema_of(s, name, needed) : json::value();
    json::value arguments = given.with_schema(schema);
    check_names(arguments, schema);
    if (s.how().edit) {
        arguments = edit_arguments(name, arguments, schema);
        check_names(arguments, schema);
    }
    if (!look_first && !s.how().json) fetch_output_schemas(s, name);
    if (s.how().json) {
        json::value result = s.client().request(
            "tools/call", json::object({{"name", name}, {"arguments", std::move(arguments)}}), s.call());
        s.screen().clear_status();
        write_json(result);
        return result["isError"].if_bool().value_or(false) ? exit_status::tool_failed : exit_status::ok;
    }
    tool_result result = s.client().call_tool(name, std::move(arguments), s.call());
    s.screen().clear_status();
    write_out(shown(result, out_columns() != 0, out_has_colors()));
    if (!result.is_error) return exit_status::ok;
    s.screen().say("keel: the tool reported an error (isError)" + s.hint());
    return exit_status::tool_failed;
}

}  // namespace keel::command
