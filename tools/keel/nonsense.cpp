#include "nonsense.hpp"

#include "printable.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace keel::command {

namespace {

constexpr std::size_t longest_shown = 160;  // columns
constexpr std::size_t certain = 10;         // lines; from then on the library may have stopped to report each

// As the library begins its reports.
constexpr std::array<std::string_view, 4> about_lines = {
    "invalid JSON: ", "invalid message: ", "line skipped: ", "batch rejected"};
// A server has no business with requests of this name: they are ours, and come back.
constexpr std::array<std::string_view, 2> echoes = {"request ignored, servers must not send requests: server/discover",
                                                    "request ignored, servers must not send requests: initialize"};

/// Takes " (7 more before it)" off the end.
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

void nonsense::hear(std::string_view report) {
    auto begins = [&](std::string_view with) { return report.starts_with(with); };
    std::lock_guard lock(mutex_);
    if (std::any_of(echoes.begin(), echoes.end(), begins)) echoes_ = true;
    if (std::none_of(about_lines.begin(), about_lines.end(), begins)) return;
    lines_ += 1 + take_unreported(report);
    if (!first_.empty()) return;
    if (begins(about_lines[0])) report.remove_prefix(about_lines[0].size());
    first_ = cut_to(printable_line(report), longest_shown);
}

std::string nonsense::first() const {
    std::lock_guard lock(mutex_);
    return first_;
}

std::string nonsense::text() const {
    std::lock_guard lock(mutex_);
    if (echoes_) return "it gives back what it is sent";
    if (lines_ == 0) return {};
    if (lines_ == 1) return "it wrote a line that is no message: " + first_;
    return "it wrote " + std::string(lines_ >= certain ? "at least " : "") + std::to_string(lines_) +
           " lines that are no messages, the first: " + first_;
}

}  // namespace keel::command
