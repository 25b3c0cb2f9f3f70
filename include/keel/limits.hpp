#pragma once

// Limits on the memory and time that a peer can use.

#include <keel/loop.hpp>

#include <cstddef>

namespace keel::inline KEEL_ABI {

struct KEEL_API limits {
    /// How long running handlers may continue after end of input. Zero cancels them immediately.
    /// Stdio with a regular file as input waits without limit, unless --drain is given.
    duration drain_on_eof = std::chrono::seconds(0);
    /// How long a cancelled handler may take to return before it is abandoned.
    duration cleanup_grace = std::chrono::seconds(2);
    /// Timeout for the last writes of a connection that is closing.
    duration final_write = std::chrono::seconds(1);
    /// A peer that does not read for this long while output is queued is disconnected.
    duration write_stall = std::chrono::seconds(30);
    /// Timeouts of a request to the peer: without an answer or progress, and in total.
    duration request_idle = std::chrono::seconds(60);
    duration request_total = std::chrono::minutes(30);
    /// Shutdown of a child process: timeouts after its input is closed, after SIGTERM, and after SIGKILL.
    duration child_exit = std::chrono::seconds(2);
    duration child_term = std::chrono::seconds(2);
    duration child_reap = std::chrono::seconds(2);

    /// Changes of the same resource or list within this time are reported as one.
    duration notification_interval = std::chrono::milliseconds(50);

    std::size_t max_message = 16 * 1024 * 1024;  // bytes of one line
    std::size_t max_depth = 512;                 // nesting of JSON
    std::size_t max_batch = 1000;                // messages in one batch array
    std::size_t out_queue = 8 * 1024 * 1024;     // queued output bytes at which reading pauses (backpressure)
    std::size_t out_queue_soft =
        1024 * 1024;                         // queued output bytes above which progress is merged and logs are dropped
    std::size_t max_in_flight = 256;         // running handlers per connection
    std::size_t max_in_flight_total = 4096;  // running handlers per server
    std::size_t max_listens = 64;            // open subscriptions/listen requests per connection
    std::size_t max_subscriptions = 1024;    // subscribed resources per connection
    std::size_t max_uri = 8 * 1024;          // bytes of the URI of a subscribed resource
    unsigned anonymous_errors_per_second = 10;  // error answers without an id
};

}  // namespace keel
