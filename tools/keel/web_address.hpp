#pragma once

// Splits a URL of a URL elicitation into parts, so that the user can judge it (ELI-08, ELI-19).

#include <string>
#include <string_view>
#include <vector>

namespace keel::command {

struct web_address {
    std::string_view before;  // "https://", possibly with user information
    std::string_view host;
    std::string_view after;  // port, path and the rest
    std::string problem;     // not empty: the URL must not be opened
    std::vector<std::string> warnings;
};

/// The views refer to `url`.
web_address read_web_address(std::string_view url);

}  // namespace keel::command
