#pragma once

#include <keel/json.hpp>

#include <string>

namespace keel::command {

/// Indented JSON, printable, without a line end. Colors tell names, strings, numbers and constants apart.
std::string json_text(const json::value& v, bool colors);

}  // namespace keel::command
