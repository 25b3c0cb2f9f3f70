#pragma once

// The progress of a call as a line of text.

#include <keel/call.hpp>

#include <cstddef>
#include <string>

namespace keel::command {

/// "[######----]  60%  reading", or a line without a bar if the total is unknown. At most `columns` columns; printable.
std::string progress_line(const progress_report& report, std::size_t columns);

}  // namespace keel::command
