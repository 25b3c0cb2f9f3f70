#pragma once

// A server whose tools cross the boundary between user code and library in every way that build flags can break: state
// that is looked up by type, and exceptions in both directions.

#include <keel/server.hpp>

#include <atomic>
#include <exception>
#include <memory>
#include <string>

struct add_args {
    double a = 0;
    double b = 0;
};
KEEL_DESCRIBE(add_args, a, b)

struct first_state {
    std::atomic<int> calls = 0;
};
struct second_state {
    std::atomic<int> calls = 100;
};

inline void add_features(keel::server& server) {
    server.on_start([] { return std::make_unique<first_state>(); });
    server.on_start([] { return std::make_shared<second_state>(); });
    server.add_tool("add", "Add two numbers", [](add_args in) { return in.a + in.b; });
    server.add_tool("states", "Count calls in two states of different types", [](keel::context& ctx) {
        int first = ++ctx.state<first_state>().calls;
        int second = ++ctx.state<second_state>().calls;
        return std::to_string(first) + " " + std::to_string(second);
    });
    server.add_tool("missing_state", "Ask for a state that does not exist", [](keel::context& ctx) -> std::string {
        try {
            return ctx.state<std::string>();
        } catch (const std::logic_error&) {
            return "std::logic_error";
        }
    });
    // Thrown here, caught by the library.
    server.add_tool("reject", "Answer with a protocol error",
                    []() -> std::string { throw keel::error(1234, "rejected by the handler"); });
    server.add_tool("fail", "Answer with a tool error", []() -> std::string { throw keel::tool_failure("failed"); });
    // Thrown by the library, caught here.
    server.add_tool("catch", "Catch an exception of the library", []() -> std::string {
        try {
            keel::json::parse("{");
        } catch (const keel::json::error&) {
            return "keel::json::error";
        } catch (const std::exception&) {
            return "another std::exception";
        }
        return "nothing";
    });
    // Thrown by the library into a user coroutine.
    server.add_tool("catch_in_task", "Catch an exception of the library in a coroutine",
                    [](keel::context& ctx) -> keel::task<std::string> {
                        std::string caught = "nothing";
                        try {
                            co_await ctx.sample("poem", keel::sampling_request("Write a poem"));
                        } catch (const keel::error& e) {
                            caught = "keel::error: " + std::string(keel::name_of(e.kind()));
                        }
                        co_return caught;
                    });
}
