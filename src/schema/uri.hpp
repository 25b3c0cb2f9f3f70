#pragma once

// The part of RFC 3986 that references between schemas need.

#include <keel/version.hpp>

#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::validation {

/// Resolves a reference relative to `base` (RFC 3986, 5.2). Either may be empty or relative.
std::string resolve_uri(std::string_view base, std::string_view reference);

struct uri_halves {
    std::string_view document;
    std::string_view fragment;  // without the '#'
};
uri_halves split_fragment(std::string_view uri) noexcept;

/// "%25" becomes "%"; invalid escapes are kept.
std::string percent_decoded(std::string_view text);

}  // namespace keel::validation
