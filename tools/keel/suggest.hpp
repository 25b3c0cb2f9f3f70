#pragma once

// "did you mean": the known word that is nearest to a mistyped one.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace keel::command {

/// The number of insertions, deletions, replacements and swaps of neighbors that turn one word into the other (optimal string
/// alignment). Case is ignored.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The nearest word if it is near enough to be a typing error: at most a third of the letters differ, or one word begins with the
/// other.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);

/// "; did you mean X?", or "".
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

/// "a, b and 12 more".
std::string listed(std::span<const std::string> words, std::size_t at_most = 20);

}  // namespace keel::command
