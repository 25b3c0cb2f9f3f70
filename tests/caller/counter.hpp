#pragma once

namespace keel::caller {

/// A server that remembers what it has done: `record` with a number, `executed` for all numbers and how often each. The
/// arguments are those of keel::main.
int count(int argc, const char* const* argv);

}  // namespace keel::caller
