#pragma once

// What the official conformance suite wants to see a client do: one scenario for each of its servers.

#include <keel/client.hpp>

#include <span>
#include <string>
#include <string_view>

namespace keel::conformance {

/// `play` gets a client that is connected, and what the suite has to say of the scenario (null: nothing); both outlive it.
/// It throws when something is not as it should be.
struct scenario {
    std::string_view name;
    task<void> (*play)(client& c, const json::value& context);
};

std::span<const scenario> call_scenarios();    // tools, questions, schemas, streams that break
std::span<const scenario> header_scenarios();  // what has to be in the headers of HTTP
std::span<const scenario> skill_scenarios();   // the extension of skills

/// Null when there is none of that name.
const scenario* find_scenario(std::string_view name);
std::string names_of_scenarios();

/// Calls a tool and says what came of it. Throws when the tool itself says that it failed. `c` outlives the task.
task<void> use_tool(client& c, std::string name, json::value arguments = {});

/// A line for whoever looks at a run.
void say(std::string_view line);

}  // namespace keel::conformance
