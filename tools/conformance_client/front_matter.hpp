#pragma once

// The front matter of a Markdown file: YAML between two lines of three dashes.

#include <keel/json.hpp>

#include <string_view>

namespace keel::conformance {

/// Returns the members as an object. Supports scalars, and mappings of scalars one level deep. Throws json::error for
/// other YAML, because a value that was not parsed cannot be compared.
json::value read_front_matter(std::string_view file);

}  // namespace keel::conformance
