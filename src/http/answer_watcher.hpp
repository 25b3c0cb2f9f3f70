#pragma once

// Callbacks from an HTTP connection to the object that answers its current request.

#include <keel/version.hpp>

namespace keel::inline KEEL_ABI::http {

/// Called on the connection's loop, from the dispatch of a request until its answer is complete.
class answer_watcher {
public:
    /// The client has disconnected. This is the last call.
    virtual void on_gone() = 0;
    /// The queued output was written.
    virtual void on_drained() = 0;
    /// Nothing was written for a while: send a keep-alive comment.
    virtual void on_quiet() = 0;

protected:
    ~answer_watcher() = default;
};

}  // namespace keel::http
