#pragma once

// The metaschemas of the supported dialects. Keel validates a schema while compiling it and does not need them for that:
// they are here for schemas that refer to them.

#include <keel/version.hpp>

#include <optional>
#include <span>
#include <string_view>

namespace keel::inline KEEL_ABI::validation {

struct metaschema {
    std::string_view uri;  // without fragment
    std::string_view text;
};

std::span<const metaschema> metaschemas_2020_12() noexcept;
std::span<const metaschema> metaschemas_2019_09() noexcept;
std::span<const metaschema> metaschemas_draft_07() noexcept;

/// The JSON text of the metaschema with this URI, or nothing.
std::optional<std::string_view> find_metaschema(std::string_view uri) noexcept;

}  // namespace keel::validation
