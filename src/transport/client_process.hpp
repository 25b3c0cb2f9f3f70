#pragma once

// The process that started a stdio server and talks to it. Clients often start servers through wrappers (a shell, npx), and
// another process may have a copy of the pipe, so neither the parent process nor the end of input shows that the client has ended.

#include "transport/descriptor.hpp"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::transport {

/// One process of the chain from the server up to its oldest ancestor.
struct process_facts {
    pid_t pid = 0;
    pid_t parent = 0;
    std::uint64_t start_time = 0;  // in clock ticks since boot; together with the pid it identifies a process
    /// Identifies the file behind descriptor 0: "pipe:[123]", "socket:[123]", "/dev/null". Empty if it is closed or unreadable.
    std::string input = {};

    bool operator==(const process_facts&) const = default;
};

/// The parent and the start time in the text of /proc/PID/stat. Returns nullopt if the text is invalid.
std::optional<process_facts> parse_process_stat(std::string_view text);

/// Returns the index of the client in `chain`, or nullopt if there is none. `chain` starts with the server itself; each process
/// is followed by its parent.
///
/// A wrapper passes on its own standard input, so descriptor 0 of every wrapper is the input of the server. The client is the
/// first ancestor with another descriptor 0. There is none if the input is not an unnamed pipe or a socket, if descriptor 0 of an
/// ancestor is unknown (it may be a wrapper of another user, such as sudo), or if the chain is inconsistent because a process
/// ended while it was read.
std::optional<std::size_t> find_client(std::span<const process_facts> chain);

struct client_process {
    pid_t pid = 0;
    descriptor pidfd;  // readable when the process has ended; the exit of one of its threads does not count
};

/// Finds and opens the client of this process. Returns nullopt if there is none. Reads /proc; descriptor 0 must still be the
/// standard input that the client gave.
std::optional<client_process> open_client_process();

}  // namespace keel::transport
