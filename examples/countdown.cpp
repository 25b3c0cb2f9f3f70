// Long calls: a coroutine that waits without occupying a thread, reports progress, handles cancellation and cleans up, with a
// structured result whose schema clients see. And a plain function that computes on a worker thread and checks for
// cancellation from time to time.

#include <keel/main.hpp>

#include <chrono>
#include <string>

using namespace std::chrono_literals;

struct countdown_args {
    int from = 10;
};
KEEL_DESCRIBE(countdown_args, (from, "First number", keel::minimum(1), keel::maximum(1000)))

struct countdown_result {
    int counted = 0;
    std::string said;
};
KEEL_DESCRIBE(countdown_result, counted, said)

keel::task<countdown_result> countdown(keel::context& ctx, countdown_args in) {
    bool cut_short = false;
    try {
        for (int n = in.from; n > 0; --n) {
            co_await ctx.sleep(10ms);  // a cancellation throws here
            ctx.progress(in.from - n + 1, in.from, "at " + std::to_string(n));
        }
    } catch (const keel::cancelled&) {
        cut_short = true;
    }
    if (cut_short) {
        co_await ctx.sleep(1ms);  // cleanup may wait again, for at most limits.cleanup_grace
        throw keel::cancelled();
    }
    countdown_result r{.counted = in.from, .said = "lift-off"};
    co_return r;
}

struct primes_args {
    int below = 1000;
};
KEEL_DESCRIBE(primes_args, (below, keel::minimum(2), keel::maximum(100'000'000)))

int count_primes(keel::context& ctx, primes_args in) {
    int found = 0;
    for (int n = 2; n < in.below; ++n) {
        bool prime = true;
        for (int d = 2; prime && d <= n / d; ++d) prime = n % d != 0;
        if (prime) ++found;
        if (n % 1000 != 0) continue;
        if (ctx.cancelled()) throw keel::cancelled();  // nothing is sent for a cancelled request
        ctx.progress(n, in.below);
    }
    return found;
}

int main(int argc, char** argv) {
    keel::server server({.name = "countdown", .version = "1.0.0"});
    server.add_tool("countdown", "Counts down, with progress", &countdown);
    server.add_tool("count_primes", "Counts the primes below a number", &count_primes);
    return keel::main(server, argc, argv);
}
