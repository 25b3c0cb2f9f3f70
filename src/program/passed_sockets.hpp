#pragma once

// Addresses of the form "systemd" and "systemd:NAME": sockets that a service manager has opened for this process.

#include "transport/activation.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::program {

struct command_line;

/// Returns the name in "systemd:NAME", "" for "systemd", or nullopt if the address is of another form.
std::optional<std::string_view> socket_name(std::string_view address);

/// Replaces these addresses in the command line by "fd:N". "systemd:NAME" means all sockets with this name, "systemd" all sockets that no
/// other option names. Returns what is wrong, or "". If no address is of this form, nothing is changed.
std::string use_passed_sockets(command_line& line, const std::vector<transport::passed_socket>& passed);
/// The same with the sockets in the environment, which it removes from there in any case.
std::string use_passed_sockets(command_line& line);

}  // namespace keel::program
