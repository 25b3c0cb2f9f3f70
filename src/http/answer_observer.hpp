#pragma once

// Who gives the answer to a request that is waiting on an HTTP connection.

#include <keel/version.hpp>

namespace keel::inline KEEL_ABI::http {

/// Told on the connection's loop, from the moment a request was handed over until its answer is complete.
class answer_observer {
public:
    /// Nobody waits for the answer any more. The last call.
    virtual void on_gone() = 0;
    /// The client has taken what was queued for it.
    virtual void on_drained() = 0;
    /// Nothing has been said for a while: time to show a sign of life.
    virtual void on_quiet() = 0;

protected:
    ~answer_observer() = default;
};

}  // namespace keel::http
