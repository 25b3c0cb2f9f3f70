#pragma once

#include "options.hpp"

#include <keel/server_target.hpp>

namespace keel::command {

/// The server that the options name. Throws usage_error if a file or directory does not exist.
server_target target_of(const options& o);

}  // namespace keel::command
