#pragma once

#include "options.hpp"

#include <keel/server_target.hpp>

namespace keel::command {

/// Where the server is, by the options. Throws usage_error for files and directories that are not there.
server_target target_of(const options& o);

}  // namespace keel::command
