#pragma once

// What a server is doing, in the text format of Prometheus (version 0.0.4).

#include <keel/server_health.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::http {

inline constexpr std::string_view metrics_content_type = "text/plain; version=0.0.4; charset=utf-8";

/// `extra` is what the program or the transport counts: counters end in "_total", the rest are gauges. What Prometheus does
/// not allow in a name becomes '_'; of two with one name the first is shown.
void append_metrics(std::string& out, const server_health&,
                    const std::vector<std::pair<std::string, double>>& extra = {});

}  // namespace keel::http
