#pragma once

#include <string>
#include <vector>

namespace keel::command {

/// The file in which `keel shell` keeps the typed lines: $XDG_STATE_HOME/keel/history, or ~/.local/state/keel/history; "" if there is no
/// home directory.
std::string usual_history_file();
/// Empty if the file cannot be read.
std::vector<std::string> read_history(const std::string& path);
/// Writes the file so that only its owner can read it. Returns false if that fails.
bool write_history(const std::string& path, const std::vector<std::string>& lines);

}  // namespace keel::command
