#pragma once

// Starts the user's browser.

#include <string>

namespace keel::command {

/// Opens the address with $BROWSER, else with xdg-open. $BROWSER is a colon-separated list of commands that are tried
/// in turn; %s in a command is replaced with the address, which is otherwise the last argument. Returns "" if the
/// browser seems to have opened it, else the reason why not.
std::string open_in_browser(const std::string& address);

}  // namespace keel::command
