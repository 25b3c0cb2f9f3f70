// Tool calls, and messages that the server sends during them.

#include "scenarios.hpp"

#include <keel/async.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

namespace keel::conformance {

namespace {

task<void> look_around(client& c, const json::value&) {
    std::vector<tool> tools = co_await c.list_tools();
    say(std::to_string(tools.size()) + " tools");
    for (const tool& t : tools) say("  " + t.name);
}

/// The server declares no capabilities: use the raw request form, which does not check them.
task<void> introduce(client& c, const json::value&) {
    json::value listed = co_await c.request("tools/list");
    say(std::to_string(listed["tools"].size()) + " tools");
}

task<void> add_numbers(client& c, const json::value&) {
    co_await c.list_tools();
    json::value numbers = json::object({{"a", 5}, {"b", 3}});
    co_await use_tool(c, "add_numbers", std::move(numbers));
}

/// These tools take no arguments. They are called one after the other.
task<void> use_every_tool(client& c, const json::value&) {
    std::vector<tool> tools = co_await c.list_tools();
    for (const tool& t : tools) co_await use_tool(c, t.name, json::object());
}

/// Concurrently: messages of one call must not reach another.
task<void> use_every_tool_at_once(client& c, const json::value&) {
    std::vector<tool> tools = co_await c.list_tools();
    auto calls = [&](scope& s) -> task<void> {
        for (const tool& t : tools) s.spawn(use_tool(c, t.name, json::object()));
        co_return;
    };
    co_await with_scope(calls);
}

/// Returns the received schema to the server.
task<void> echo_schema(client& c, const json::value&) {
    std::vector<tool> tools = co_await c.list_tools();
    auto rich = std::ranges::find(tools, "json_schema_2020_12_tool", &tool::name);
    if (rich == tools.end()) throw std::runtime_error("missing tool with the schema to echo");
    json::value arguments = json::object({{"schema", rich->input_schema}});
    co_await use_tool(c, "json_schema_echo", std::move(arguments));
}

constexpr scenario all[] = {
    {"initialize", introduce},
    {"tools_call", add_numbers},
    {"elicitation-sep1034-client-defaults", use_every_tool},
    {"sse-retry", use_every_tool},
    {"request-metadata", introduce},
    {"sep-2322-client-request-state", use_every_tool_at_once},
    {"json-schema-ref-no-deref", look_around},
    {"json-schema-2020-12-preservation", echo_schema},
};

}  // namespace

std::span<const scenario> call_scenarios() { return all; }

}  // namespace keel::conformance
