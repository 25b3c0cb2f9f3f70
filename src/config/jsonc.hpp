#pragma once

#include <keel/version.hpp>

#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::config {

/// Replaces comments (`//` and `/* */`), trailing commas and a byte order mark with spaces. Line breaks stay, so that line and column of
/// an error are those of the original text. An unterminated comment extends to the end.
std::string without_comments(std::string_view text);

}  // namespace keel::config
