#include "unexpected_output.hpp"

#include "printable.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace keel::command {

namespace {

constexpr std::size_t longest_shown = 160;  // columns
constexpr std::size_t certain = 10;         // lines; above this the library may no longer report each one

// The prefixes of the library's reports about invalid lines.
constexpr std::array<std::string_view, 4> about_lines = {
    "invalid JSON: ", "invalid message: ", "line skipped: ", "batch rejected"};
// A server never sends these requests. If they arrive, the program echoes its input.
constexpr std::array<std::string_view, 2> echoes = {"request ignored, servers must not send requests: server/discover",
                                                    "request ignored, servers must not send requests: initialize"};

/// Removes " (7 more before it)" from the end.
std::size_t take_unreported(std::string_view& report) {
    constexpr std::string_view end = " more before it)";
    auto begin = report.rfind(" (");
    if (!report.ends_with(end) || begin == std::string_view::npos) return 0;
    std::size_t n = 0;
    std::from_chars(report.data() + begin + 2, report.data() + report.size(), n);
    report = report.substr(0, begin);
    return n;
}

}  // namespace

void unexpected_output::add(std::string_view report) {
    auto begins = [&](std::string_view with) { return report.starts_with(with); };
    std::lock_guard lock(mutex_);
    if (std::any_of(echoes.begin(), echoes.end(), begins)) echoes_ = true;
    if (std::none_of(about_lines.begin(), about_lines.end(), begins)) return;
    lines_ += 1 + take_unreported(report);
    if (!first_.empty()) return;
    if (begins(about_lines[0])) report.remove_prefix(about_lines[0].size());
    first_ = cut_to(printable_line(report), longest_shown);
}

std::string unexpected_output::first() const {
    std::lock_guard lock(mutex_);
    return first_;
}

std::string unexpected_output::text() const {
    std::lock_guard lock(mutex_);
    if (echoes_) return "it echoes its input";
    if (lines_ == 0) return {};
    if (lines_ == 1) return "it wrote a line that is not an MCP message: " + first_;
    return "it wrote " + std::string(lines_ >= certain ? "at least " : "") + std::to_string(lines_) +
           " lines that are not MCP messages, the first: " + first_;
}

}  // namespace keel::command
