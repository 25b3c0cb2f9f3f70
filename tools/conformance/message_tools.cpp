// Tools that send messages before their result, and one whose result is fetched later.

#include "fixtures.hpp"

#include <chrono>
#include <string>

namespace keel::conformance {

namespace {

using namespace std::chrono_literals;

constexpr duration pause = 50ms;

task<std::string> with_progress(context& ctx) {
    for (int percent : {0, 50, 100}) {
        if (percent > 0) co_await ctx.sleep(pause);
        ctx.progress(percent, 100);
    }
    co_return "Tool with progress executed successfully";
}

task<std::string> with_logging(context& ctx) {
    ctx.log(log_level::info, "Tool execution started");
    co_await ctx.sleep(pause);
    ctx.log(log_level::info, "Tool processing data");
    co_await ctx.sleep(pause);
    ctx.log(log_level::info, "Tool execution completed");
    co_return "Tool with logging executed successfully";
}

// Revision 2026-07-28: a client that sets no log level in its request gets no log messages.
std::string log_once(context& ctx) {
    ctx.log(log_level::info, "This message is only for those who asked for it");
    return "Logged, for those who asked for it";
}

// The client must reconnect for the result: the stream ends first, and the client reconnects after `retry`.
task<std::string> reconnection(context& ctx) {
    constexpr duration retry = 100ms;
    ctx.release_stream(retry);
    co_await ctx.sleep(retry);
    co_return "Reconnection test completed successfully";
}

}  // namespace

void add_message_tools(server& s) {
    s.add_tool("test_tool_with_progress", "Reports progress three times", &with_progress);
    s.add_tool("test_tool_with_logging", "Logs three messages", &with_logging);
    s.add_tool("test_logging_tool", "Logs a message", &log_once, {.quick = true});
    s.add_tool("test_reconnection", "Ends the response stream before it has a result", &reconnection);
}

}  // namespace keel::conformance
