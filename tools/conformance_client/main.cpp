// The client that the official conformance suite tests: `conformance-client URL`.
//
// Environment: MCP_CONFORMANCE_SCENARIO is the name of the scenario, MCP_CONFORMANCE_CONTEXT optional JSON data for it,
// MCP_CONFORMANCE_PROTOCOL_VERSION the revision to use. Without the latter the client negotiates the revision.
//
// Exit status: 0 if the scenario was completed, 1 if it failed, 2 if the scenario is unknown.

#include "scenarios.hpp"
#include "skills.hpp"

#include <keel/client.hpp>
#include <keel/run.hpp>
#include <keel/version.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

namespace keel::conformance {

namespace {

// Shorter than the timeout of the suite, so that the error names the call.
constexpr duration patience = std::chrono::seconds(20);
constexpr unsigned give_up_after = 60;  // seconds

std::string from_environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

/// A user who agrees to everything: booleans are true, and fields with a default keep it.
form_answer agree(const form_question& asked) {
    json::value values = json::object();
    for (const json::member& field : asked.schema["properties"].members()) {
        if (field.content["type"] == json::value("boolean") && !field.content.contains("default")) {
            values.append(field.key(), true);
        }
    }
    return values;
}

sampling_result answer_for_model(const sampling_request&) {
    return sampling_result(content("This program has no model."), "none", "endTurn");
}

client_options options_for(const std::string& version) {
    client_options options;
    options.about = {.name = "keel-conformance-client", .version = KEEL_VERSION, .title = "Keel conformance client"};
    if (!version.empty()) {
        options.mode = version >= "2026-07-28" ? protocol_mode::modern : protocol_mode::legacy;
        options.version = version;
    }
    options.connect_timeout = patience;
    options.limits.request_idle = patience;
    options.on_form = &agree;
    options.on_sampling = &answer_for_model;
    options.roots = std::vector<root>{{.uri = "file:///tmp/keel-conformance", .name = "work"}};
    options.extensions.emplace(skills_extension, json::object());
    options.log = [](log_level, std::string_view text) {
        std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
    };
    return options;
}

// The arguments must outlive the task.
task<void> play(client& c, const scenario& s, const json::value& context) {
    co_await c.connect();
    server_facts facts = c.server();
    say(s.name);
    say("speaking " + facts.protocol_version + " with " + facts.about.name);
    co_await s.play(c, context);
    co_await c.close();
}

int complain(const std::string& what) {
    std::fprintf(stderr, "conformance-client: %s\n", what.c_str());
    return 1;
}

int play_at(const std::string& url) {
    std::string name = from_environment("MCP_CONFORMANCE_SCENARIO");
    const scenario* s = find_scenario(name);
    if (!s) {
        std::string problem = name.empty() ? "MCP_CONFORMANCE_SCENARIO is not set" : "unknown scenario " + name;
        complain(problem + "; known are " + names_of_scenarios());
        return 2;
    }
    try {
        std::string about = from_environment("MCP_CONFORMANCE_CONTEXT");
        json::value context = about.empty() ? json::value() : json::parse(about);
        client c(keel::url{.address = url}, options_for(from_environment("MCP_CONFORMANCE_PROTOCOL_VERSION")));
        keel::run(play(c, *s, context));
        return 0;
    } catch (const error& e) {
        return complain(name + ": " + std::string(name_of(e.kind())) + " " + std::to_string(e.code()) + ": " +
                        e.what());
    } catch (const std::exception& e) {
        return complain(name + ": " + e.what());
    }
}

}  // namespace

}  // namespace keel::conformance

int main(int argc, char** argv) {
    if (argc != 2) {
        keel::conformance::complain("usage: conformance-client URL");
        return 2;
    }
    // The suite may kill the shell that started this process, and leave this process behind.
    alarm(keel::conformance::give_up_after);
    return keel::conformance::play_at(argv[1]);
}
