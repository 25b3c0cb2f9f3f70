#pragma once

// Sockets that a service manager has opened for this process (socket activation of systemd).

#include <keel/version.hpp>

#include <string>
#include <vector>

namespace keel::inline KEEL_ABI::transport {

struct passed_socket {
    int descriptor = -1;
    std::string name =
        {};  // FileDescriptorName= of the socket unit; "unknown" or the name of the unit if it was not set
};

/// Reads LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES, and removes them from the environment, so that child processes do not use them. The
/// descriptors are closed in child processes too. Returns an empty list if the variables are missing or for another process. Throws
/// std::invalid_argument if they are invalid. Must be called before other threads use the environment.
std::vector<passed_socket> take_passed_sockets();

}  // namespace keel::transport
