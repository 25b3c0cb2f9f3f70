#pragma once

// `keel demo`: one of each feature, so that a person can try all of them.

#include <keel/server.hpp>

#include <atomic>
#include <cstdint>

namespace keel::demo {

/// What the demo remembers while it serves. Made when it starts; handlers on several threads use it.
struct memory {
    std::atomic<std::int64_t> counter{0};
    std::atomic<std::int64_t> bookings{0};
};

/// What clients are told before they ask for anything.
server_options options();

/// Everything below.
void add_everything(server& s);

void add_tools(server& s);      // echo, add, sleep, fail: small ones, which benchmarks call too
void add_content(server& s);    // every kind of content, structured results, logs, traces
void add_resources(server& s);  // text, bytes, several at once, a family
void add_changes(server& s);    // a resource that changes, a tool that comes and goes
void add_prompts(server& s);
void add_asking(server& s);   // forms, a URL, sampling, roots
void add_methods(server& s);  // what is not of the protocol

}  // namespace keel::demo
