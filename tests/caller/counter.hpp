#pragma once

namespace keel::caller {

/// A server that counts its calls: `record` takes a number, `executed` returns how often each number was recorded. The
/// arguments are those of keel::main.
int count(int argc, const char* const* argv);

}  // namespace keel::caller
