#pragma once

// `keel call NAME --edit`: the arguments in the user's editor.

#include <keel/json.hpp>

#include <string>

namespace keel::command {

/// A JSON text with comments: the given arguments, the required ones with placeholders, and the others as comments.
std::string argument_template(const std::string& tool, const json::value& given, const json::value& schema);

/// Opens the template in $VISUAL, $EDITOR or vi, and returns the edited arguments. Throws usage_error if the editor fails or the text
/// is invalid; an invalid text is kept in its file, which the message names.
json::value edit_arguments(const std::string& tool, const json::value& given, const json::value& schema);

}  // namespace keel::command
