// A long call done well: a coroutine that waits without a thread, reports progress, notices that it was cancelled, and
// cleans up, waiting again if it must. And a structured result, whose schema clients are told.

#include <keel/server.hpp>

#include <chrono>
#include <string>

using namespace std::chrono_literals;

struct countdown_args {
    int from = 10;
};
KEEL_DESCRIBE(countdown_args, (from, "Where to begin", keel::minimum(1), keel::maximum(1000)))

struct countdown_result {
    int counted = 0;
    std::string said;
};
KEEL_DESCRIBE(countdown_result, counted, said)

keel::task<countdown_result> countdown(keel::context& ctx, countdown_args in) {
    bool cut_short = false;
    try {
        for (int n = in.from; n > 0; --n) {
            co_await ctx.sleep(10ms);  // cancelled here, if at all
            ctx.progress(in.from - n + 1, in.from, "at " + std::to_string(n));
        }
    } catch (const keel::cancelled&) {
        cut_short = true;
    }
    if (cut_short) {
        co_await ctx.sleep(1ms);  // cleaning up may take its time, within limits.cleanup_grace
        throw keel::cancelled();
    }
    countdown_result r{.counted = in.from, .said = "lift-off"};
    co_return r;
}

int main(int argc, char** argv) {
    keel::server server({.name = "countdown", .version = "1.0.0"});
    server.add_tool("countdown", "Counts down, with progress", &countdown);
    return keel::main(server, argc, argv);
}
