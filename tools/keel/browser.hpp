#pragma once

// The person's browser, started with nothing of ours.

#include <string>

namespace keel::command {

/// With $BROWSER (commands with a colon between them, each tried in turn; %s in one stands for the address, which comes last
/// otherwise), else with xdg-open. "": it is open, as far as can be seen; else why not.
std::string open_in_browser(const std::string& address);

}  // namespace keel::command
