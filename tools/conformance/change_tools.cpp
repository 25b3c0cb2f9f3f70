// Tools that change a list, so that clients are notified.

#include "fixtures.hpp"

#include <atomic>
#include <memory>
#include <string>

namespace keel::conformance {

namespace {

struct counts {
    std::atomic<int> tools{0};
    std::atomic<int> prompts{0};
};

void put_changing_tool(server& s, int version) {
    s.add_tool("test_changing_tool", "Version " + std::to_string(version),
               [version] { return "Version " + std::to_string(version); }, {.quick = true, .replace = true});
}

void put_changing_prompt(server& s, int version) {
    s.add_prompt("test_changing_prompt", "Version " + std::to_string(version),
                 [version] { return "Version " + std::to_string(version); }, {.quick = true, .replace = true});
}

}  // namespace

void add_change_tools(server& s) {
    s.on_start([] { return std::make_unique<counts>(); });
    put_changing_tool(s, 0);
    put_changing_prompt(s, 0);
    // The server must outlive its handlers.
    s.add_tool("test_trigger_tool_change", "Changes the list of tools",
               [&s](context& ctx) {
                   put_changing_tool(s, ++ctx.state<counts>().tools);
                   return "The list of tools has changed";
               },
               {.quick = true});
    s.add_tool("test_trigger_prompt_change", "Changes the list of prompts",
               [&s](context& ctx) {
                   put_changing_prompt(s, ++ctx.state<counts>().prompts);
                   return "The list of prompts has changed";
               },
               {.quick = true});
}

}  // namespace keel::conformance
