#pragma once

#include <keel/version.hpp>

#include <optional>
#include <string_view>

namespace keel::inline KEEL_ABI::validation {

inline constexpr std::string_view dialect_2020_12 = "https://json-schema.org/draft/2020-12/schema";

/// The JSON text of a metaschema of the dialect, or nothing.
std::optional<std::string_view> find_metaschema(std::string_view uri) noexcept;

}  // namespace keel::validation
