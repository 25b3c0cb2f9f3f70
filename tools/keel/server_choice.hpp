#pragma once

// The server of a command line: an option, a URL, or the name of a configured server as the first word.

#include "options.hpp"

#include <string_view>

namespace keel::command {

/// Where the name of a server may be followed by the name of one of its features: "fs.read_text_file".
enum class word_form : unsigned char { server, server_and_name };

/// If no option names the server, takes it from the first word and fills in the options of that server. Throws usage_error if it is
/// unknown, with the files that were searched.
void choose_server(options& o, word_form form);

}  // namespace keel::command
