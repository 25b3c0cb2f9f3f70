#pragma once

// The front matter of a Markdown file: YAML between two lines of three dashes.

#include <keel/json.hpp>

#include <string_view>

namespace keel::conformance {

/// The members as an object. Reads the part of YAML that people write there: scalars, and mappings of scalars one level
/// deep. Throws json::error for anything else: what was not understood cannot be compared with anything.
json::value read_front_matter(std::string_view file);

}  // namespace keel::conformance
