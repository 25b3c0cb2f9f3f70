#include "http/metrics_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <map>

namespace keel::inline KEEL_ABI::http {

namespace {

using server_side::bucket_bounds;
using server_side::duration_counts;
using server_side::operation_health;
using server_side::outcome_count;

// By rpc::request_outcome. The names of OpenTelemetry: a request without an error has no error type.
constexpr std::array<std::string_view, outcome_count> outcomes = {"ok", "tool_error", "error", "cancelled"};
constexpr std::array<std::string_view, outcome_count> error_types = {"", "tool_error", "_OTHER", "cancelled"};
// For names that are not registered: clients must not be able to add time series.
constexpr std::string_view unknown_name = "_OTHER";

void append_number(std::string& out, std::uint64_t n) { out.append(std::to_string(n)); }

void append_number(std::string& out, double d) {
    if (std::isnan(d)) {
        out.append("NaN");
    } else if (std::isinf(d)) {
        out.append(d > 0 ? "+Inf" : "-Inf");
    } else {
        char digits[32];
        out.append(digits, std::to_chars(digits, digits + sizeof digits, d).ptr);
    }
}

/// The labels of one time series: {a="x",b="y"}.
class labels {
public:
    labels& add(std::string_view name, std::string_view value) {
        text_.append(text_.empty() ? "" : ",").append(name).append("=\"");
        for (char c : value) {
            if (c == '\n') {
                text_.append("\\n");
                continue;
            }
            if (c == '"' || c == '\\') text_.push_back('\\');
            text_.push_back(c);
        }
        text_.push_back('"');
        return *this;
    }
    std::string text() const { return text_.empty() ? "" : "{" + text_ + "}"; }

private:
    std::string text_;
};

class metrics_writer {
public:
    explicit metrics_writer(std::string& out) : out_(out) {}

    void begin(std::string_view name, std::string_view type, std::string_view help) {
        name_ = name;
        out_.append("# HELP ").append(name).append(" ").append(help).append("\n");
        out_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
    }
    template <class Number>
    void sample(const labels& of, Number n, std::string_view suffix = {}) {
        out_.append(name_).append(suffix).append(of.text()).append(" ");
        append_number(out_, n);
        out_.append("\n");
    }
    void histogram(const labels& of, const duration_counts& counts) {
        std::uint64_t below = 0;
        for (std::size_t i = 0; i < bucket_bounds.size(); ++i) {
            below += counts.buckets[i];
            char bound[32];
            const char* end = std::to_chars(bound, bound + sizeof bound, static_cast<double>(bucket_bounds[i]) / 1e6,
                                            std::chars_format::fixed)
                                  .ptr;
            sample(labels(of).add("le", std::string_view(bound, end)), below, "_bucket");
        }
        below += counts.buckets.back();
        sample(labels(of).add("le", "+Inf"), below, "_bucket");
        sample(of, static_cast<double>(counts.sum) / 1e9, "_sum");
        sample(of, below, "_count");
    }

private:
    std::string& out_;
    std::string_view name_;
};

std::string_view or_unknown(std::string_view name) { return name.empty() ? unknown_name : name; }

void append_operations(metrics_writer& out, const std::vector<operation_health>& operations) {
    out.begin("mcp_server_operation_duration_seconds", "histogram",
              "Duration of requests from their arrival to their response, by method, tool and type of error.");
    for (const operation_health& each : operations) {
        labels of;
        of.add("mcp_method_name", or_unknown(each.method));
        if (each.method == "tools/call") of.add("gen_ai_tool_name", or_unknown(each.tool));
        for (std::size_t i = 0; i < outcome_count; ++i) {
            if (each.durations[i].count() == 0) continue;
            labels with_error = of;
            if (!error_types[i].empty()) with_error.add("error_type", error_types[i]);
            out.histogram(with_error, each.durations[i]);
        }
    }

    std::map<std::string_view, std::array<std::uint64_t, outcome_count>> by_method;
    for (const operation_health& each : operations) {
        for (std::size_t i = 0; i < outcome_count; ++i) by_method[each.method][i] += each.durations[i].count();
    }
    out.begin("keel_operations_total", "counter", "Requests that have ended, by method and outcome.");
    for (const auto& [method, counts] : by_method) {
        for (std::size_t i = 0; i < outcome_count; ++i) {
            out.sample(labels().add("mcp_method_name", or_unknown(method)).add("outcome", outcomes[i]), counts[i]);
        }
    }
    out.begin("keel_tool_calls_total", "counter", "Tool calls that have ended, by tool and outcome.");
    for (const operation_health& each : operations) {
        if (each.method != "tools/call") continue;
        for (std::size_t i = 0; i < outcome_count; ++i) {
            out.sample(labels().add("gen_ai_tool_name", or_unknown(each.tool)).add("outcome", outcomes[i]),
                       each.durations[i].count());
        }
    }
}

}  // namespace

void append_metrics(std::string& text, const metrics_snapshot& from) {
    metrics_writer out(text);
    const auto plain = [&](std::string_view name, std::string_view help, auto n) {
        out.begin(name, name.ends_with("_total") ? "counter" : "gauge", help);
        out.sample({}, n);
    };
    const server_health& health = from.health;
    append_operations(out, from.operations);
    out.begin("mcp_server_session_duration_seconds", "histogram",
              "Duration of sessions that have ended: connections, and HTTP sessions of revisions before 2026-07-28.");
    out.histogram({}, from.sessions);
    out.begin("keel_requests_total", "counter", "Requests received, by protocol revision.");
    for (const auto& [revision, count] : from.requests) {
        out.sample(labels().add("mcp_protocol_version", or_unknown(revision)), count);
    }
    plain("keel_requests_in_flight", "Requests being handled.", static_cast<std::uint64_t>(health.in_flight));
    plain("keel_connections", "Open connections.", static_cast<std::uint64_t>(health.connections));
    plain("keel_dropped_late_total", "Messages dropped because their request had already ended.", health.dropped_late);
    plain("keel_rejected_input_total", "Messages rejected as invalid.", health.rejected_input);
    plain("keel_abandoned_total", "Handlers abandoned because they did not stop in time.", health.abandoned);
    for (const plain_metric& each : from.others) plain(each.name, each.help, each.value);
}

}  // namespace keel::http
