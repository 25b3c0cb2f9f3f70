#pragma once

// The client scenarios of the official conformance suite: one for each of its servers.

#include <keel/client.hpp>

#include <span>
#include <string>
#include <string_view>

namespace keel::conformance {

/// `play` gets a connected client and the suite's data for the scenario (or null); both outlive it. Throws if an
/// expectation fails.
struct scenario {
    std::string_view name;
    task<void> (*play)(client& c, const json::value& context);
};

std::span<const scenario> call_scenarios();    // tools, elicitation, schemas, broken streams
std::span<const scenario> header_scenarios();  // required HTTP headers
std::span<const scenario> skill_scenarios();   // the skills extension

/// Null if the name is unknown.
const scenario* find_scenario(std::string_view name);
std::string names_of_scenarios();

/// Calls a tool and prints the result. Throws if the tool reports an error. `c` must outlive the task.
task<void> use_tool(client& c, std::string name, json::value arguments = {});

/// Prints a line of the log.
void say(std::string_view line);

}  // namespace keel::conformance
