#pragma once

// An address that a server wants a person to open, taken apart so that the person can judge it (ELI-08, ELI-19).

#include <string>
#include <string_view>
#include <vector>

namespace keel::command {

struct web_address {
    std::string_view before;  // "https://", perhaps with a user's name
    std::string_view host;
    std::string_view after;  // port, path and the rest
    std::string problem;     // not empty: it is not to be opened
    std::vector<std::string> warnings;
};

/// The parts point into `url`.
web_address read_web_address(std::string_view url);

}  // namespace keel::command
