#pragma once

// What shells need for completion: the scripts, and the hidden command that they call.

#include <string>
#include <string_view>
#include <vector>

namespace keel::command {

/// The script of bash, zsh or fish; "" for another name.
std::string_view completion_script(std::string_view shell);

/// `keel __complete LINE` or `keel __complete -- WORD...`, both with the program's name first: prints the candidates for the scripts,
/// one line each: a kind (word, part, files, directories), the text and a description, separated by tabs. The first line has the
/// incomplete word ("current").
int print_candidates(const std::vector<std::string>& arguments);

}  // namespace keel::command
