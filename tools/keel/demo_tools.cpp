// The small tools.

#include "demo.hpp"

#include <chrono>
#include <stdexcept>
#include <string>

namespace keel::demo {

enum class failure_kind { tool, protocol, exception };
KEEL_DESCRIBE_ENUM(failure_kind, tool, protocol, exception)

struct echo_args {
    std::string text;
};
KEEL_DESCRIBE(echo_args, (text, "The text to return"))

struct add_args {
    double a = 0;
    double b = 0;
};
KEEL_DESCRIBE(add_args, a, b)

struct sleep_args {
    std::int64_t ms = 0;
};
KEEL_DESCRIBE(sleep_args, (ms, "Duration in milliseconds", keel::minimum(0), keel::maximum(86'400'000)))

struct fail_args {
    failure_kind kind = failure_kind::tool;
};
KEEL_DESCRIBE(fail_args,
              (kind, "tool: an isError result; protocol: a JSON-RPC error; exception: an unexpected exception"))

namespace {

// Reports progress ten times. Cancellation ends the wait at once.
task<std::string> sleep(context& ctx, sleep_args in) {
    constexpr int steps = 10;
    auto step = std::chrono::duration_cast<duration>(std::chrono::milliseconds(in.ms)) / steps;
    for (int done = 1; done <= steps; ++done) {
        co_await ctx.sleep(step);
        ctx.progress(done, steps);
    }
    co_return "slept " + std::to_string(in.ms) + " ms";
}

tool_result fail(fail_args in) {
    switch (in.kind) {
        case failure_kind::tool: return tool_result::failure("the tool failed, as asked");
        case failure_kind::protocol: throw error(1001, "a protocol error, as asked", json::object({{"asked", true}}));
        case failure_kind::exception: break;
    }
    throw std::runtime_error("this text goes to the log only");
}

}  // namespace

void add_tools(server& s) {
    s.add_tool("echo", "Returns the text", [](echo_args in) { return std::move(in.text); }, {.quick = true});
    s.add_tool("add", "Adds two numbers", [](add_args in) { return in.a + in.b; }, {.quick = true});
    s.add_tool("sleep", "Waits and reports progress; can be cancelled", &sleep);
    s.add_tool("fail", "Fails in the chosen way", &fail, {.quick = true});
}

}  // namespace keel::demo
