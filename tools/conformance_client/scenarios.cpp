#include "scenarios.hpp"

#include <cstdio>
#include <stdexcept>

namespace keel::conformance {

namespace {

std::string text_of(const tool_result& r) {
    std::string text;
    for (const content& block : r.content) {
        if (!text.empty()) text += ' ';
        text += block.is_text() ? block.text() : "[" + std::string(block.type()) + "]";
    }
    return text;
}

}  // namespace

const scenario* find_scenario(std::string_view name) {
    for (auto group : {call_scenarios(), header_scenarios(), skill_scenarios()}) {
        for (const scenario& s : group) {
            if (s.name == name) return &s;
        }
    }
    return nullptr;
}

std::string names_of_scenarios() {
    std::string names;
    for (auto group : {call_scenarios(), header_scenarios(), skill_scenarios()}) {
        for (const scenario& s : group) {
            if (!names.empty()) names += ", ";
            names += s.name;
        }
    }
    return names;
}

task<void> use_tool(client& c, std::string name, json::value arguments) {
    tool_result r = co_await c.call_tool(name, arguments);
    std::string text = text_of(r);
    if (r.is_error) throw std::runtime_error("the tool " + name + " failed: " + text);
    say(name + ": " + text);
}

void say(std::string_view line) { std::printf("%.*s\n", static_cast<int>(line.size()), line.data()); }

}  // namespace keel::conformance
