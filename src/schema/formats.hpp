#pragma once

// The supported formats, by name.

#include <keel/version.hpp>

#include <string_view>

namespace keel::inline KEEL_ABI::validation {

using format_check = bool (*)(std::string_view);

/// Null for an unknown format, which is only an annotation.
format_check find_format(std::string_view name) noexcept;

}  // namespace keel::validation
