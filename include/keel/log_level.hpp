#pragma once

// Severity of log messages.

#include <keel/version.hpp>

#include <optional>
#include <string_view>

namespace keel::inline KEEL_ABI {

enum class log_level : unsigned char { debug, info, notice, warning, error, critical, alert, emergency };

/// The name in the protocol: "warning".
KEEL_API std::string_view name_of(log_level) noexcept;
/// The level with this name, or nullopt.
KEEL_API std::optional<log_level> find_log_level(std::string_view name) noexcept;

}  // namespace keel
