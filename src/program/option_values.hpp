#pragma once

// The values of options as text: durations, numbers.

#include <keel/loop.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace keel::inline KEEL_ABI::program {

/// Parses "1.5s", "200ms", "2m" or "1h"; a number without a unit is in seconds. Returns nullopt if the text is invalid.
std::optional<duration> read_duration(std::string_view text);
/// Parses decimal digits only. Returns nullopt if the text is invalid or the number is out of range.
std::optional<std::uint64_t> read_number(std::string_view text, std::uint64_t least, std::uint64_t most);
/// Parses a number of bytes: "65536", "64K", "4M" or "1G" (powers of 1024). Returns nullopt if the text is invalid.
std::optional<std::uint64_t> read_size(std::string_view text);

}  // namespace keel::program
