#pragma once

// The formats that can be checked, by name.

#include <keel/version.hpp>

#include <string_view>

namespace keel::inline KEEL_ABI::validation {

using format_check = bool (*)(std::string_view);

/// Nothing for a format that is not known: it is an annotation only.
format_check find_format(std::string_view name) noexcept;

}  // namespace keel::validation
