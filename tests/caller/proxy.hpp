#pragma once

namespace keel::caller {

/// proxy SEED HOST:PORT [MEAN]: listens on a port chosen by the system, prints it on standard output, and forwards
/// bytes to HOST:PORT and back. Each direction of each connection gets a fault after a random number of bytes, MEAN on
/// average. The same seed gives the same faults to the same connections. Exits at the end of standard input and prints
/// how many faults of each kind occurred.
int run_proxy(int argc, const char* const* argv);

}  // namespace keel::caller
