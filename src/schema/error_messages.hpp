#pragma once

// Error messages. Not used while values are valid.

#include "schema/program.hpp"

#include <keel/decode_error.hpp>

#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::validation::words {

/// Prepends a step to the path.
void step_into(decode_error&, std::string_view key);
void step_into(decode_error&, std::size_t index);

std::string wrong_type(type_set allowed, const json::value& found);
std::string wrong_value(const value_rules&, const json::value& found);
std::string wrong_number(const number_rules&, const json::value& found);
std::string wrong_count(std::size_t found, std::size_t least, std::size_t most, const char* noun);
/// Quoted and truncated.
std::string shown(std::string_view text);
std::string shown(const json::value&);
std::string shortened(std::string_view text, std::size_t most);

}  // namespace keel::validation::words
