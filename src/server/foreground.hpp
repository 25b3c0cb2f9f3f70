#pragma once

// Serving on the calling thread, with signals: what keel::main and run_stdio do.

#include "async/epoll_loop.hpp"
#include "server/command_line.hpp"

#include <keel/server.hpp>

#include <functional>
#include <memory>

namespace keel::inline KEEL_ABI::server_side {

/// The exit status. `open_more` opens whatever else is to be served, on the loop; what it throws is told, and ends it all.
int serve_in_foreground(server& s, const command_line& line,
                        const std::function<void(const std::shared_ptr<epoll_loop>&)>& open_more = {});

}  // namespace keel::server_side
