#pragma once

// The features of a server, for completion.

#include "options.hpp"

#include <keel/prompt.hpp>
#include <keel/types.hpp>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace keel::command {

/// Each function returns an empty list if the server cannot be asked.
struct feature_lookup {
    std::function<std::vector<tool>()> tools;
    std::function<std::vector<prompt>()> prompts;
    std::function<std::vector<resource>()> resources;
    /// Values of a prompt's argument that begin with `value`.
    std::function<std::vector<std::string>(const std::string& prompt, const std::string& argument,
                                           const std::string& value)>
        prompt_values;
};

/// Connects to the server of the options when it is first asked, and waits a few seconds at most.
feature_lookup connect_for_lookup(const options& o);

}  // namespace keel::command
