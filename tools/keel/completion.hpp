#pragma once

// The candidates for an incomplete command line, for shells and for `keel shell`.

#include "feature_lookup.hpp"
#include "options.hpp"

#include <functional>
#include <string>
#include <vector>

namespace keel::command {

struct candidate {
    std::string text;
    std::string about = {};
    bool complete = true;  // false: more text follows without a space ("path=")
};

struct candidates {
    enum class paths : unsigned char { none, files, directories };
    std::vector<candidate> words;
    paths also = paths::none;
};

/// `words` are the arguments of keel; the last one is incomplete. `find_server` connects to the server of the options, and may refuse
/// (empty functions).
candidates complete(const std::vector<std::string>& words,
                    const std::function<feature_lookup(const options&)>& find_server);

/// The arguments and values of a command whose server is known: `words` follow the command and the server, the last is incomplete.
candidates complete_features(std::string_view command, const std::vector<std::string>& words,
                             const feature_lookup& server);

/// Removes the candidates that do not begin with `current`.
void keep_matching(candidates& all, std::string_view current);

/// Splits a line as a shell does: quotes and backslashes. The last word is "" if the line ends with a space.
std::vector<std::string> split_line(std::string_view line);

}  // namespace keel::command
