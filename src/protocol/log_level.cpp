#include <keel/log_level.hpp>

#include <array>
#include <cstddef>

namespace keel::inline KEEL_ABI {

namespace {
constexpr std::array<std::string_view, 8> level_names = {"debug", "info",     "notice", "warning",
                                                         "error", "critical", "alert",  "emergency"};
}

std::string_view name_of(log_level level) noexcept { return level_names[static_cast<std::size_t>(level)]; }

std::optional<log_level> find_log_level(std::string_view name) noexcept {
    for (std::size_t i = 0; i < level_names.size(); ++i) {
        if (level_names[i] == name) return static_cast<log_level>(i);
    }
    return std::nullopt;
}

}  // namespace keel
