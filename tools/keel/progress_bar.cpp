#include "progress_bar.hpp"

#include "printable.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace keel::command {

namespace {

constexpr std::size_t least_bar = 10;
constexpr std::size_t most_bar = 40;

std::string number(double n) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", n);
    return text;
}

}  // namespace

std::string progress_line(const progress_report& report, std::size_t columns) {
    std::string message = printable_line(report.message);
    bool known = report.total && *report.total > 0 && std::isfinite(*report.total) && std::isfinite(report.progress);
    if (!known) return cut_to("… " + number(report.progress) + (message.empty() ? "" : "  " + message), columns);

    double part = std::clamp(report.progress / *report.total, 0.0, 1.0);
    std::size_t bar = std::clamp(columns / 3, least_bar, most_bar);
    auto full = static_cast<std::size_t>(part * static_cast<double>(bar));
    char percent[16];
    std::snprintf(percent, sizeof percent, "%3d%%", static_cast<int>(part * 100));
    std::string line = "[" + std::string(full, '#') + std::string(bar - full, '-') + "] " + percent;
    if (!message.empty()) line += "  " + message;
    return cut_to(line, columns);
}

}  // namespace keel::command
