// Log records about requests, and the counters of tools.

#include "server/method_stats.hpp"
#include "support/harness.hpp"

#include <doctest/doctest.h>

namespace keel::test {

namespace {

/// A server whose log keeps records as text lines without their time.
struct logging_server {
    explicit logging_server(log_level least) : s(settings(least)) {
        s.tool("park", [this](context&) -> task<std::string> {
            head_count::presence here(s.handlers);
            co_await never.pass();
            co_return "";
        });
        s.tool("add", [] { return 3; }, {.quick = true});
        s.tool("worker", [] { return 3; });
        s.tool("unwell", []() -> tool_result { return tool_result::failure("unwell"); }, {.quick = true});
        s.tool("unwell_worker", []() -> tool_result { return tool_result::failure("unwell"); });
        s.tool("unwell_task", [](context&) -> task<std::string> {
            throw tool_failure("unwell");
            co_return "";
        });
        s.tool("broken", []() -> std::string { throw std::runtime_error("disk on fire"); }, {.quick = true});
        s.tool("broken_task", [](context&) -> task<std::string> {
            throw std::runtime_error("disk on fire");
            co_return "";
        });
        s.start("2025-11-25");
        records.clear();
    }
    server_settings settings(log_level least) {
        server_settings how;
        how.principal = "ann";
        how.adjust = [this, least](server_options& o) {
            o.log = log_sink(
                [this](const log_record& r) {
                    std::string line;
                    append_log_line(line, r, log_format::text);
                    line = line.substr(line.find(' ') + 1);
                    records.push_back(line.substr(0, line.find(" ms=")) + (r.took ? " ms" : ""));
                    CHECK(r.principal == (r.request_id.empty() ? "" : "ann"));
                },
                least);
        };
        return how;
    }
    std::uint64_t calls(const std::string& tool, rpc::request_outcome how) {
        for (const auto& each : s.core->stats.operations()) {
            if (each.method == "tools/call" && each.tool == tool) {
                return each.durations[static_cast<std::size_t>(how)].count();
            }
        }
        return 0;
    }

    std::vector<std::string> records;
    gate never;
    server_under_test s;
};

}  // namespace

TEST_CASE("B17: a cancelled call is logged at info, with its id, tool and duration") {
    logging_server t(log_level::info);
    t.s.call("7", "park");
    t.s.cancel("7", "user pressed stop");
    CHECK(t.records ==
          std::vector<std::string>{
              "info request cancelled by the client: user pressed stop request=7 method=tools/call tool=park ms"});
    t.s.call("\"a b\"", "park");
    t.s.cancel("\"a b\"");
    CHECK(t.records.back() == R"(info request cancelled by the client request="a b" method=tools/call tool=park ms)");
}

TEST_CASE("B4: a response that a cancel withdraws is logged at info") {
    logging_server t(log_level::info);
    t.s.wire->stall();
    t.s.call("7", "add");
    t.s.cancel("7");
    t.s.wire->resume();
    for (const std::string& line : t.records) CHECK(line.starts_with("info "));
    CHECK(t.records.size() == 1);
}

TEST_CASE("a failed handler is logged at error, with its id, tool and duration") {
    logging_server t(log_level::info);
    t.s.call("1", "broken");
    t.s.call("2", "broken_task");
    CHECK(t.records == std::vector<std::string>{
                           "error handler failed: disk on fire request=1 method=tools/call tool=broken ms",
                           "error handler failed: disk on fire request=2 method=tools/call tool=broken_task ms"});
}

TEST_CASE("at debug each request that ends is logged with its outcome; at info none is") {
    logging_server quiet(log_level::info);
    quiet.s.call("1", "add");
    CHECK(quiet.records.empty());

    logging_server t(log_level::debug);
    t.s.call("1", "add");
    t.s.call("2", "unwell");
    t.s.call("3", "nothing");
    t.s.send(request_line("4", "ping"));
    CHECK(t.records ==
          std::vector<std::string>{"debug request ended: ok request=1 method=tools/call tool=add ms",
                                   "debug request ended: tool error request=2 method=tools/call tool=unwell ms",
                                   "debug request ended: error request=3 method=tools/call ms",
                                   "debug request ended: ok request=4 method=ping ms"});
}

TEST_CASE("calls are counted by tool and outcome, however the handler runs") {
    using enum rpc::request_outcome;
    logging_server t(log_level::warning);
    t.s.call("1", "add");
    t.s.call("2", "worker");
    t.s.until([&] { return t.s.answers_to("2") == 1; });
    t.s.call("3", "unwell");
    t.s.call("4", "unwell_worker");
    t.s.until([&] { return t.s.answers_to("4") == 1; });
    t.s.call("5", "unwell_task");
    t.s.call("6", "broken");
    t.s.call("7", "no such tool");
    t.s.call("8", "park");
    t.s.cancel("8");
    CHECK(t.calls("add", ok) == 1);
    CHECK(t.calls("worker", ok) == 1);
    CHECK(t.calls("unwell", tool_error) == 1);
    CHECK(t.calls("unwell_worker", tool_error) == 1);
    CHECK(t.calls("unwell_task", tool_error) == 1);
    CHECK(t.calls("broken", error) == 1);
    CHECK(t.calls("", error) == 1);
    CHECK(t.calls("park", cancelled) == 1);
    for (const auto& each : t.s.core->stats.operations()) CHECK(each.tool != "no such tool");
}

TEST_CASE("the number of counted tools is limited; further ones share one entry") {
    server_side::method_stats stats;
    for (std::size_t i = 0; i < server_side::method_stats::most_tools; ++i) {
        CHECK(stats.slot_of_tool("tool" + std::to_string(i)) != server_side::method_stats::unknown_tool);
    }
    CHECK(stats.slot_of_tool("one too many") == server_side::method_stats::unknown_tool);
    const std::uint16_t again = stats.slot_of_tool("tool5");
    CHECK(stats.tool_name(again) == "tool5");
    CHECK(stats.tool_name(server_side::method_stats::unknown_tool) == "");
}

}  // namespace keel::test
