#include "http/metrics_text.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>

using namespace keel;
using namespace std::chrono_literals;
using rpc::request_outcome;

namespace {

std::string text_of(const http::metrics_snapshot& from) {
    std::string out;
    http::append_metrics(out, from);
    return out;
}

bool has(const std::string& text, const std::string& line) {
    return text.find("\n" + line + "\n") != std::string::npos;
}

server_side::operation_health operation(std::string method, std::string tool, server_side::operation_counts& counts) {
    return {std::move(method), std::move(tool), counts.read()};
}

}  // namespace

TEST_CASE("metrics use the Prometheus text format, each with a help text and a type") {
    http::metrics_snapshot now;
    now.health.connections = 3;
    now.health.abandoned = 1;
    now.requests = {{"2026-07-28", 1234567890123}, {"", 2}};
    now.others = {{"keel_http_sessions", "Open sessions.", 4.5},
                  {"keel_x_total", "Some events.", std::numeric_limits<double>::infinity()}};
    const std::string out = text_of(now);
    CHECK(has(out, "# HELP keel_connections Open connections.\n# TYPE keel_connections gauge\nkeel_connections 3"));
    CHECK(has(out, "# TYPE keel_abandoned_total counter\nkeel_abandoned_total 1"));
    CHECK(has(
        out,
        "# TYPE keel_requests_total counter\nkeel_requests_total{mcp_protocol_version=\"2026-07-28\"} 1234567890123\n"
        "keel_requests_total{mcp_protocol_version=\"_OTHER\"} 2"));
    CHECK(
        has(out, "# HELP keel_http_sessions Open sessions.\n# TYPE keel_http_sessions gauge\nkeel_http_sessions 4.5"));
    CHECK(has(out, "# TYPE keel_x_total counter\nkeel_x_total +Inf"));
}

TEST_CASE("a histogram has cumulative buckets, a sum and a count") {
    server_side::operation_counts counts;
    counts.add(50us, request_outcome::ok);
    counts.add(100us, request_outcome::ok);  // a bound belongs to its bucket
    counts.add(3s, request_outcome::ok);
    counts.add(1h, request_outcome::ok);
    counts.add(-1s, request_outcome::ok);  // a clock that went back
    http::metrics_snapshot now;
    now.operations.push_back(operation("ping", "", counts));
    const std::string out = text_of(now);
    const std::string name = "mcp_server_operation_duration_seconds";
    CHECK(has(out, name + "_bucket{mcp_method_name=\"ping\",le=\"0.0001\"} 3"));
    CHECK(has(out, name + "_bucket{mcp_method_name=\"ping\",le=\"2\"} 3"));
    CHECK(has(out, name + "_bucket{mcp_method_name=\"ping\",le=\"5\"} 4"));
    CHECK(has(out, name + "_bucket{mcp_method_name=\"ping\",le=\"300\"} 4"));
    CHECK(has(out, name + "_bucket{mcp_method_name=\"ping\",le=\"+Inf\"} 5"));
    CHECK(has(out, name + "_sum{mcp_method_name=\"ping\"} 3603.00015"));
    CHECK(has(out, name + "_count{mcp_method_name=\"ping\"} 5"));
}

TEST_CASE("operations are counted by method, tool and outcome; unknown names share one label value") {
    server_side::operation_counts add;
    add.add(1ms, request_outcome::ok);
    add.add(1ms, request_outcome::tool_error);
    add.add(1ms, request_outcome::cancelled);
    server_side::operation_counts unknown;
    unknown.add(1ms, request_outcome::error);
    http::metrics_snapshot now;
    now.operations = {operation("tools/call", "", unknown), operation("tools/call", "add", add),
                      operation("", "", unknown)};
    const std::string out = text_of(now);
    CHECK(has(out, R"(keel_operations_total{mcp_method_name="tools/call",outcome="ok"} 1)"));
    CHECK(has(out, R"(keel_operations_total{mcp_method_name="tools/call",outcome="error"} 1)"));
    CHECK(has(out, R"(keel_operations_total{mcp_method_name="_OTHER",outcome="error"} 1)"));
    CHECK(has(out, R"(keel_tool_calls_total{gen_ai_tool_name="add",outcome="tool_error"} 1)"));
    CHECK(has(out, R"(keel_tool_calls_total{gen_ai_tool_name="add",outcome="cancelled"} 1)"));
    CHECK(has(out, R"(keel_tool_calls_total{gen_ai_tool_name="_OTHER",outcome="error"} 1)"));
    const std::string count = "mcp_server_operation_duration_seconds_count";
    CHECK(has(out, count + R"({mcp_method_name="tools/call",gen_ai_tool_name="add"} 1)"));
    CHECK(has(out, count + R"({mcp_method_name="tools/call",gen_ai_tool_name="add",error_type="tool_error"} 1)"));
    CHECK(has(out, count + R"({mcp_method_name="_OTHER",error_type="_OTHER"} 1)"));
}

TEST_CASE("labels are escaped") {
    server_side::operation_counts counts;
    counts.add(1ms, request_outcome::ok);
    http::metrics_snapshot now;
    now.operations.push_back(operation("a\"b\\c\nd", "", counts));
    CHECK(has(text_of(now), R"(keel_operations_total{mcp_method_name="a\"b\\c\nd",outcome="ok"} 1)"));
}
