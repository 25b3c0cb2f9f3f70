#pragma once

namespace keel::caller {

/// proxy SEED HOST:PORT [MEAN]: listens on a port of the system's choice, which it tells on standard output, and hands bytes
/// on to HOST:PORT and back. Each connection and direction meets a fault after a random number of bytes, MEAN on average.
/// The same seed gives the same faults to the same connections. Ends with its standard input, and tells how many of each kind
/// there were.
int run_proxy(int argc, const char* const* argv);

}  // namespace keel::caller
