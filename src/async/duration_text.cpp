#include "async/duration_text.hpp"

#include <array>
#include <utility>

namespace keel::inline KEEL_ABI::async {

std::string duration_text(duration d) {
    using namespace std::chrono;
    constexpr std::array<std::pair<duration, const char*>, 4> units = {
        {{minutes(1), " min"}, {seconds(1), " s"}, {milliseconds(1), " ms"}, {microseconds(1), " µs"}}};
    for (const auto& [unit, name] : units) {
        const bool small = unit == minutes(1) && d < minutes(2);  // 60 s, not 1 min
        if (!small && d % unit == duration::zero()) return std::to_string(d / unit) + name;
    }
    return std::to_string(duration_cast<nanoseconds>(d).count()) + " ns";
}

}  // namespace keel::async
