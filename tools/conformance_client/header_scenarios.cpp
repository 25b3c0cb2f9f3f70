// HTTP headers that a client must send, and tools that it must not offer because of invalid annotations.

#include "scenarios.hpp"

#include <utility>
#include <vector>

namespace keel::conformance {

namespace {

/// One request of each kind that has an Mcp-Name header, for everything the server lists.
task<void> use_everything(client& c, const json::value&) {
    std::vector<tool> tools = co_await c.list_tools();
    for (const tool& t : tools) co_await use_tool(c, t.name, json::object());
    std::vector<resource> resources = co_await c.list_resources();
    for (const resource& r : resources) {
        std::vector<resource_contents> contents = co_await c.read_resource(r.uri);
        say(r.uri + ": " + std::to_string(contents.size()) + " contents");
    }
    std::vector<prompt> prompts = co_await c.list_prompts();
    for (const prompt& p : prompts) {
        prompt_result got = co_await c.get_prompt(p.name);
        say(p.name + ": " + std::to_string(got.messages.size()) + " messages");
    }
}

task<void> make_given_calls(client& c, const json::value& context) {
    co_await c.list_tools();  // tells the client which arguments are sent as headers
    for (const json::value& call : context["toolCalls"].items()) {
        co_await use_tool(c, std::string(call["name"].as_string()), call["arguments"]);
    }
}

task<void> use_what_is_offered(client& c, const json::value&) {
    std::vector<tool> tools = co_await c.list_tools();
    for (const tool& t : tools) {
        json::value arguments = json::object({{"region", "us-west1"}});
        co_await use_tool(c, t.name, std::move(arguments));
    }
}

constexpr scenario all[] = {
    {"http-standard-headers", use_everything},
    {"http-custom-headers", make_given_calls},
    {"http-invalid-tool-headers", use_what_is_offered},
};

}  // namespace

std::span<const scenario> header_scenarios() { return all; }

}  // namespace keel::conformance
