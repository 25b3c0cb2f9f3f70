#include "http/metrics_text.hpp"

#include <charconv>
#include <cmath>
#include <string_view>

namespace keel::inline KEEL_ABI::http {

namespace {

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

void append_label(std::string& out, std::string_view text) {
    out.push_back('"');
    for (char c : text) {
        if (c == '\n') {
            out.append("\\n");
            continue;
        }
        if (c == '"' || c == '\\') out.push_back('\\');
        out.push_back(c);
    }
    out.push_back('"');
}

void begin_metric(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
    out.append("# HELP ").append(name).append(" ").append(help).append("\n");
    out.append("# TYPE ").append(name).append(" ").append(type).append("\n");
}

template <class Number>
void append_metric(std::string& out, std::string_view name, std::string_view type, std::string_view help, Number n) {
    begin_metric(out, name, type, help);
    out.append(name).append(" ");
    append_number(out, n);
    out.append("\n");
}

std::string metric_name(std::string_view text) {
    std::string out;
    for (char c : text) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
        const bool digit = c >= '0' && c <= '9' && !out.empty();
        out.push_back(letter || digit ? c : '_');
    }
    return out.empty() ? "_" : out;
}

double seconds(std::chrono::nanoseconds t) { return std::chrono::duration<double>(t).count(); }

void append_methods(std::string& out, const server_health& health) {
    const auto each = [&](std::string_view name, std::string_view more, auto number) {
        for (const auto& [method, numbers] : health.methods) {
            out.append(name).append("{method=");
            append_label(out, method);
            out.append(more).append("} ");
            append_number(out, number(numbers));
            out.append("\n");
        }
    };
    if (health.methods.empty()) return;
    begin_metric(out, "keel_method_requests_total", "counter", "Completed requests, by method.");
    each("keel_method_requests_total", "", [](const method_health& m) { return m.count; });
    begin_metric(out, "keel_method_errors_total", "counter", "Requests answered with a protocol error, by method.");
    each("keel_method_errors_total", "", [](const method_health& m) { return m.errors; });
    // Not a summary: that requires a sum, which is not recorded.
    begin_metric(out, "keel_method_seconds", "gauge", "Request duration in seconds, by method and quantile.");
    each("keel_method_seconds", ",quantile=\"0.5\"", [](const method_health& m) { return seconds(m.p50); });
    each("keel_method_seconds", ",quantile=\"0.9\"", [](const method_health& m) { return seconds(m.p90); });
    each("keel_method_seconds", ",quantile=\"0.99\"", [](const method_health& m) { return seconds(m.p99); });
    each("keel_method_seconds", ",quantile=\"1\"", [](const method_health& m) { return seconds(m.slowest); });
}

}  // namespace

void append_metrics(std::string& out, const server_health& health,
                    const std::vector<std::pair<std::string, double>>& extra) {
    const std::size_t start = out.size();
    const auto count = [](std::size_t n) { return static_cast<std::uint64_t>(n); };
    append_metric(out, "keel_connections", "gauge", "Open connections.", count(health.connections));
    append_metric(out, "keel_requests_in_flight", "gauge", "Requests being handled.", count(health.in_flight));
    append_metric(out, "keel_requests_total", "counter", "Requests received.", health.requests);
    append_metric(out, "keel_dropped_late_total", "counter",
                  "Messages dropped because their request had already ended.", health.dropped_late);
    append_metric(out, "keel_rejected_input_total", "counter", "Messages rejected as invalid.", health.rejected_input);
    append_metric(out, "keel_abandoned_total", "counter", "Handlers abandoned because they did not stop in time.",
                  health.abandoned);
    append_methods(out, health);
    for (const auto& [name, value] : extra) {
        const std::string clean = metric_name(name);
        // A duplicate metric would make the whole text invalid.
        if (out.find("# TYPE " + clean + " ", start) != std::string::npos) continue;
        const bool counts = clean.ends_with("_total");
        append_metric(out, clean, counts ? "counter" : "gauge", "See the documentation of the server.", value);
    }
}

}  // namespace keel::http
