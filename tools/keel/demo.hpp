#pragma once

// `keel demo`: a server with one of each feature, to try them.

#include <keel/server.hpp>

#include <atomic>
#include <cstdint>

namespace keel::demo {

/// The state of the demo. Created when serving starts; handlers use it from several threads.
struct memory {
    std::atomic<std::int64_t> counter{0};
    std::atomic<std::int64_t> bookings{0};
};

server_options options();

/// Calls all functions below.
void add_everything(server& s);

void add_tools(server& s);      // echo, add, sleep, fail: small tools, also called by the benchmarks
void add_content(server& s);    // every kind of content, structured output, logs, trace context
void add_resources(server& s);  // text, binary, several contents, a template
void add_changes(server& s);    // a resource that changes, a tool that is added and removed
void add_prompts(server& s);
void add_client_requests(server& s);  // elicitation (forms, a URL), sampling, roots
void add_methods(server& s);          // methods outside the protocol

}  // namespace keel::demo
