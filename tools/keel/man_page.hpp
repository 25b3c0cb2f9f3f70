#pragma once

// Man pages, from the same tables as --help.

#include "commands.hpp"

#include <string>

namespace keel::command {

/// keel(1).
std::string general_man_page();
/// keel-COMMAND(1).
std::string man_page_of(const command& c);

/// `keel __generate DIR`: writes man/*.1 and the completion scripts bash/keel, zsh/_keel and fish/keel.fish below DIR. Throws
/// std::system_error.
void write_generated_files(const std::string& folder);

}  // namespace keel::command
