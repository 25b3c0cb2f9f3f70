#pragma once

// The properties that an object schema defines, at its top level or through $ref, allOf, anyOf, oneOf, then and else.

#include <keel/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace keel::command {

/// Follows $ref, a limited number of times. Returns the schema itself if it is not a reference or the reference is unknown.
const json::value& resolved_schema(const json::value& schema, const json::value& root);

/// Null if the schema does not define the property.
const json::value* find_property(const json::value& schema, std::string_view name);
/// In the order of the schema.
std::vector<std::string> property_names(const json::value& schema);
/// True if the schema explicitly allows properties that it does not name: additionalProperties, unevaluatedProperties or
/// patternProperties.
bool allows_more_properties(const json::value& schema);
bool is_required(const json::value& schema, std::string_view name);

/// Throws usage_error if an argument is unknown and the schema does not explicitly allow additional properties. The message has the
/// known arguments.
void check_names(const json::value& arguments, const json::value& schema);

}  // namespace keel::command
