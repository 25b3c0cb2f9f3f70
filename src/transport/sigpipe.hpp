#pragma once

// A write to a pipe without a reader must fail with EPIPE instead of killing the process. See docs/design/sigpipe.md.

#include <keel/version.hpp>

namespace keel::inline KEEL_ABI::transport {

/// While an instance exists, SIGPIPE does not kill the process. Needed for pipes only: sockets are written with
/// MSG_NOSIGNAL.
class sigpipe_guard {
public:
    sigpipe_guard();
    sigpipe_guard(const sigpipe_guard&) = delete;
    sigpipe_guard& operator=(const sigpipe_guard&) = delete;
    ~sigpipe_guard();
};

}  // namespace keel::transport
