#include "counter.hpp"

#include <keel/async.hpp>
#include <keel/main.hpp>

#include <map>
#include <mutex>

namespace keel::caller {

struct record_args {
    std::uint64_t n = 0;
    std::uint64_t wait_ms = 0;  // after recording, before the answer
};
KEEL_DESCRIBE(record_args, n, wait_ms)

struct executed_args {
    std::uint64_t from = 0;
    std::uint64_t count = 0;
};
KEEL_DESCRIBE(executed_args, from, count)

namespace {

class book {
public:
    void note(std::uint64_t n) {
        std::lock_guard lock(mutex_);
        ++done_[n];
    }
    /// One digit per number, how often it was recorded: "0110…"; 9 means nine or more.
    std::string show(std::uint64_t from, std::uint64_t count) {
        std::lock_guard lock(mutex_);
        std::string all(count, '0');
        for (auto at = done_.lower_bound(from); at != done_.end() && at->first < from + count; ++at) {
            all[at->first - from] = static_cast<char>('0' + (at->second < 9 ? at->second : 9));
        }
        return all;
    }

private:
    std::mutex mutex_;  // an HTTP server has several loop threads
    std::map<std::uint64_t, unsigned> done_;
};

}  // namespace

int count(int argc, const char* const* argv) {
    book done;
    server_options options;
    options.limits.max_in_flight = 4096;
    server s({.name = "counter", .version = "1"}, options);
    s.add_tool("record", "Notes a number", [&done](record_args a) -> task<std::string> {
        done.note(a.n);
        if (a.wait_ms > 0) co_await sleep_for(std::chrono::milliseconds(a.wait_ms));
        co_return std::to_string(a.n);
    });
    s.add_tool("executed", "How often each number of a range was noted",
               [&done](executed_args a) { return done.show(a.from, a.count); });
    return keel::main(s, argc, argv);
}

}  // namespace keel::caller
