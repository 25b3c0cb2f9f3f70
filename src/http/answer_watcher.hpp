#pragma once

// The interface by which an http_connection tells the object that completes a deferred response what happens to the client.

#include <keel/version.hpp>

namespace keel::inline KEEL_ABI::http {

/// Called on the connection's loop, from http_connection::expect_answer until the response is complete.
class answer_watcher {
public:
    /// The client is gone, or the request failed: no response is needed any more. The last call.
    virtual void on_gone() = 0;
    /// The client has taken some of the queued output.
    virtual void on_drained() = 0;
    /// The client has received nothing for `keep_alive` and no stream is open: a stream may be opened now.
    virtual void on_quiet() = 0;

protected:
    ~answer_watcher() = default;
};

}  // namespace keel::http
