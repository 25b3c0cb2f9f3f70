// The cost of the server per request without I/O: lines go in, text comes out, nothing is written. Prints CPU time per
// request next to a reference:
//
//   - tools/list of 40 tools, compared with copying the same number of bytes
//   - a typed call (decode, validate, call, encode), compared with the same tool in JSON form
//   - a call whose arguments are validated, compared with one without validation
//
// Exits with status 1 if a limit of docs/performance.md is exceeded.

#include "async/epoll_loop.hpp"

#include <keel/server.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

namespace {

struct order {
    std::string customer;
    std::vector<std::string> items;
    int count = 1;
    bool gift = false;
};
KEEL_DESCRIBE(order, (customer, keel::min_length(1)), (items, keel::max_items(10)),
              (count, keel::minimum(1), keel::maximum(100)), gift)

struct receipt {
    std::string text;
    int total = 0;
};
KEEL_DESCRIBE(receipt, text, total)

/// Accepts and discards everything.
class sink final : public keel::connection {
public:
    explicit sink(listener*& heard) : heard_(heard) {}
    void start(listener& l) override { heard_ = &l; }
    written write(std::string_view bytes) override {
        taken += bytes.size();
        return {bytes.size(), {}};
    }
    void pause() noexcept override {}
    void resume() override {}
    void close() noexcept override {}
    std::string describe() const override { return "sink"; }
    static inline std::size_t taken = 0;

private:
    listener*& heard_;
};

double cpu_seconds() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// Nanoseconds per iteration, the best of several runs: other load on the machine only adds time.
template <class F>
double cost(int turns, F f) {
    double best = 1e9;
    for (int round = 0; round < 7; ++round) {
        double begin = cpu_seconds();
        for (int i = 0; i < turns; ++i) f();
        best = std::min(best, (cpu_seconds() - begin) / turns * 1e9);
    }
    return best;
}

std::string line(const std::string& method, const std::string& params) {
    return R"({"jsonrpc":"2.0","id":7,"method":")" + method + R"(","params":)" + params + "}\n";
}

int failures = 0;

void report(const char* what, double value, double beside, const char* unit, double bound) {
    bool kept = value <= bound;
    if (!kept) ++failures;
    std::printf("%-58s %9.3f %s (beside %.0f ns; at most %g) %s\n", what, value, unit, beside, bound,
                kept ? "ok" : "TOO MUCH");
}

}  // namespace

int main() {
    keel::server server({.name = "costs", .version = "1"});
    const std::string about(180, 'd');
    for (int i = 0; i < 40; ++i) {
        server.add_tool("tool_" + std::to_string(i), about, [](order in) { return in.customer; }, {.quick = true});
    }
    server.add_tool("typed", "", [](order in) { return receipt{in.customer, in.count}; }, {.quick = true});
    auto open_form = [](keel::context&, const keel::json::value& in) {
        keel::tool_result r;
        r.structured = keel::json::object({{"text", in["customer"]}, {"total", in["count"]}});
        return r;
    };
    keel::tool_description loose{.name = "open", .input_schema = keel::json::object({{"type", "object"}})};
    loose.options.quick = true;
    server.add_tool(loose, open_form);
    keel::tool_description strict{.name = "checked", .input_schema = keel::schema_of<order>()};
    strict.options.quick = true;
    server.add_tool(strict, open_form);

    auto loop = keel::async::epoll_loop::create();
    keel::connection::listener* heard = nullptr;
    loop->post([&] {
        server.serve(loop, std::make_unique<sink>(heard));
        heard->on_input(
            line("initialize",
                 R"({"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"b","version":"1"}})"));
        heard->on_input("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        const std::string list = line("tools/list", "{}");
        const std::string arguments =
            R"("arguments":{"customer":"Ada","items":["tea","milk","bread"],"count":3,"gift":true}})";
        auto ask = [&](const std::string& l) { heard->on_input(l); };

        sink::taken = 0;
        ask(list);
        const std::string answer(sink::taken, 'x');
        std::string copy;
        double copying = cost(20'000, [&] {
            copy.clear();
            copy += answer;
            asm volatile("" : : "r"(copy.data()) : "memory");
        });
        double listing = cost(20'000, [&] { ask(list); });
        const std::string ping_line = line("ping", "{}");
        double ping = cost(20'000, [&] { ask(ping_line); });
        std::printf("tools/list of 40 tools: %zu bytes, %.0f ns; a ping: %.0f ns\n", answer.size(), listing, ping);
        report("tools/list in all, per copying its bytes", listing / copying, copying, "x ", 2);
        std::printf("    of which beyond a ping: %.2f x\n", (listing - ping) / copying);

        const std::string typed_line = line("tools/call", R"({"name":"typed",)" + arguments);
        double typed = cost(20'000, [&] { ask(typed_line); });
        const std::string open_line = line("tools/call", R"({"name":"open",)" + arguments);
        double open = cost(20'000, [&] { ask(open_line); });
        const std::string checked_line = line("tools/call", R"({"name":"checked",)" + arguments);
        double checked = cost(20'000, [&] { ask(checked_line); });
        report("typed call beyond the open form", (typed - open) / 1000, open, "us", 2);
        report("schema validation of a call's arguments", (checked - open) / 1000, open, "us", 1);
        loop->stop();
    });
    loop->run();
    server.request_stop();
    loop->end();
    return failures == 0 ? 0 : 1;
}
