#pragma once

// A JSON Schema as text for people.

#include <keel/json.hpp>

#include <cstddef>
#include <string>

namespace keel::command {

/// One line: `list of string, 1 to 3 items, default []`. References are resolved in `root`.
std::string schema_phrase(const json::value& schema, const json::value& root);

/// The properties of an object schema, one line each with its description below, nested ones indented. No line is wider than
/// `columns` (0: unlimited) if its words allow. Printable; ends with a newline unless empty.
std::string schema_text(const json::value& schema, std::size_t columns);

}  // namespace keel::command
