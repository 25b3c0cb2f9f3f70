#include "http/metrics_text.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>

using namespace keel;
using namespace std::chrono_literals;

TEST_CASE("metrics use the Prometheus text format") {
    server_health health;
    health.connections = 3;
    health.in_flight = 2;
    health.requests = 1234567890123;
    health.abandoned = 1;
    health.methods["tools/call"] = {.count = 7, .errors = 1, .p50 = 1ms, .p90 = 2500us, .p99 = 1s, .slowest = 90s};
    health.methods["a\"b\\c\nd"] = {.count = 1};
    std::string out;
    http::append_metrics(out, health, {{"keel_http_sessions", 4.5}, {"keel_http_refused_total", 2}});
    CHECK(out == R"(# HELP keel_connections Open connections.
# TYPE keel_connections gauge
keel_connections 3
# HELP keel_requests_in_flight Requests being handled.
# TYPE keel_requests_in_flight gauge
keel_requests_in_flight 2
# HELP keel_requests_total Requests received.
# TYPE keel_requests_total counter
keel_requests_total 1234567890123
# HELP keel_dropped_late_total Messages dropped because their request had already ended.
# TYPE keel_dropped_late_total counter
keel_dropped_late_total 0
# HELP keel_rejected_input_total Messages rejected as invalid.
# TYPE keel_rejected_input_total counter
keel_rejected_input_total 0
# HELP keel_abandoned_total Handlers abandoned because they did not stop in time.
# TYPE keel_abandoned_total counter
keel_abandoned_total 1
# HELP keel_method_requests_total Completed requests, by method.
# TYPE keel_method_requests_total counter
keel_method_requests_total{method="a\"b\\c\nd"} 1
keel_method_requests_total{method="tools/call"} 7
# HELP keel_method_errors_total Requests answered with a protocol error, by method.
# TYPE keel_method_errors_total counter
keel_method_errors_total{method="a\"b\\c\nd"} 0
keel_method_errors_total{method="tools/call"} 1
# HELP keel_method_seconds Request duration in seconds, by method and quantile.
# TYPE keel_method_seconds gauge
keel_method_seconds{method="a\"b\\c\nd",quantile="0.5"} 0
keel_method_seconds{method="tools/call",quantile="0.5"} 0.001
keel_method_seconds{method="a\"b\\c\nd",quantile="0.9"} 0
keel_method_seconds{method="tools/call",quantile="0.9"} 0.0025
keel_method_seconds{method="a\"b\\c\nd",quantile="0.99"} 0
keel_method_seconds{method="tools/call",quantile="0.99"} 1
keel_method_seconds{method="a\"b\\c\nd",quantile="1"} 0
keel_method_seconds{method="tools/call",quantile="1"} 90
# HELP keel_http_sessions See the documentation of the server.
# TYPE keel_http_sessions gauge
keel_http_sessions 4.5
# HELP keel_http_refused_total See the documentation of the server.
# TYPE keel_http_refused_total counter
keel_http_refused_total 2
)");
}

TEST_CASE("invalid metric names and numbers are corrected, and duplicates are omitted") {
    const double infinity = std::numeric_limits<double>::infinity();
    std::string out;
    http::append_metrics(out, {},
                         {{"9 a-b", infinity},
                          {"9 a.b", 1},
                          {"", -infinity},
                          {"n", std::numeric_limits<double>::quiet_NaN()},
                          {"keel_connections", 99}});
    const std::string tail = out.substr(out.find("# HELP __a_b"));
    CHECK(tail ==
          "# HELP __a_b See the documentation of the server.\n# TYPE __a_b gauge\n__a_b +Inf\n"
          "# HELP _ See the documentation of the server.\n# TYPE _ gauge\n_ -Inf\n"
          "# HELP n See the documentation of the server.\n# TYPE n gauge\nn NaN\n");
}
