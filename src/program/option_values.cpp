#include "program/option_values.hpp"

#include <charconv>
#include <limits>

namespace keel::inline KEEL_ABI::program {

std::optional<duration> read_duration(std::string_view text) {
    double n = 0;
    auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n, std::chars_format::fixed);
    if (problem != std::errc() || !(n >= 0 && n <= 1e9)) return std::nullopt;  // NaN fails both comparisons
    std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
    double seconds = 0;
    if (unit.empty() || unit == "s") seconds = n;
    else if (unit == "ms") seconds = n / 1000;
    else if (unit == "m") seconds = n * 60;
    else if (unit == "h") seconds = n * 3600;
    else return std::nullopt;
    if (seconds > 1e9) return std::nullopt;
    return std::chrono::duration_cast<duration>(std::chrono::duration<double>(seconds));
}

std::optional<std::uint64_t> read_number(std::string_view text, std::uint64_t least, std::uint64_t most) {
    std::uint64_t n = 0;
    auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (problem != std::errc() || end != text.data() + text.size() || n < least || n > most) return std::nullopt;
    return n;
}

std::optional<std::uint64_t> read_size(std::string_view text) {
    unsigned shift = 0;
    if (text.ends_with('K')) shift = 10;
    else if (text.ends_with('M')) shift = 20;
    else if (text.ends_with('G')) shift = 30;
    if (shift > 0) text.remove_suffix(1);
    auto n = read_number(text, 0, std::numeric_limits<std::uint64_t>::max() >> (shift + 1));
    if (!n) return std::nullopt;
    return *n << shift;
}

}  // namespace keel::program
