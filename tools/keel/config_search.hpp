#pragma once

// The configuration files that the command reads: --config, or the usual files of the hosts.

#include "options.hpp"

#include <keel/config.hpp>

#include <string>
#include <vector>

namespace keel::command {

struct found_servers {
    struct searched_file {
        std::string path;
        std::string host;
        bool exists = false;
        std::string problem = {};  // not empty: the file is invalid
    };
    server_config servers;
    std::vector<searched_file> files;  // in the order of precedence

    std::vector<std::string> names() const;
    /// "searched these files:" and one line for each.
    std::string files_text() const;
};

/// Throws usage_error if the file of --config cannot be read. An invalid file among the usual ones is skipped.
found_servers search_config(const options& o);

}  // namespace keel::command
