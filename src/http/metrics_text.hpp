#pragma once

// Metrics in the text format of Prometheus (version 0.0.4). docs/operations.md has the table of all metrics.

#include "server/operation_counts.hpp"

#include <keel/server_health.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::http {

inline constexpr std::string_view metrics_content_type = "text/plain; version=0.0.4; charset=utf-8";

/// A metric without labels. A counter if the name ends in "_total", otherwise a gauge.
struct plain_metric {
    std::string_view name;
    std::string_view help;
    double value = 0;
};

struct metrics_snapshot {
    server_health health = {};
    std::vector<server_side::operation_health> operations = {};
    std::vector<std::pair<std::string_view, std::uint64_t>> requests = {};  // by protocol revision
    server_side::duration_counts sessions = {};
    std::vector<plain_metric> others = {};
};

void append_metrics(std::string& out, const metrics_snapshot& from);

}  // namespace keel::http
