#pragma once

// Metrics in the text format of Prometheus (version 0.0.4).

#include <keel/server_health.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::http {

inline constexpr std::string_view metrics_content_type = "text/plain; version=0.0.4; charset=utf-8";

/// `extra` are metrics of the application or the transport: names that end in "_total" are counters, others gauges. Invalid
/// characters in names are replaced by '_'; duplicates are omitted.
void append_metrics(std::string& out, const server_health&,
                    const std::vector<std::pair<std::string, double>>& extra = {});

}  // namespace keel::http
