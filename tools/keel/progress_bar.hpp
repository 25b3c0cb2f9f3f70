#pragma once

// How far a call is, as a line of text.

#include <keel/call.hpp>

#include <cstddef>
#include <string>

namespace keel::command {

/// "[######----]  60%  reading", or what is known when there is no total. At most so many columns; printable.
std::string progress_line(const progress_report& report, std::size_t columns);

}  // namespace keel::command
