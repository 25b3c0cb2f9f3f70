#pragma once

// The bounds of everything a peer can make us keep or wait for.

#include <keel/loop.hpp>

#include <cstddef>

namespace keel::inline KEEL_ABI {

struct KEEL_API limits {
    /// How long running handlers may go on once input has ended. Zero cancels them at once.
    duration drain_on_eof = std::chrono::seconds(0);
    /// From the moment a handler's token fires to the moment nobody waits for it any more.
    duration cleanup_grace = std::chrono::seconds(2);
    /// For the last writes of a closing connection.
    duration final_write = std::chrono::seconds(1);
    /// A peer that takes no byte for this long while something is queued is gone.
    duration write_stall = std::chrono::seconds(30);
    /// A request of ours without an answer: restarted by progress, and in all.
    duration request_idle = std::chrono::seconds(60);
    duration request_total = std::chrono::minutes(30);
    /// A child process: to go by itself once its input has ended, to heed SIGTERM, to be gone after SIGKILL.
    duration child_exit = std::chrono::seconds(2);
    duration child_term = std::chrono::seconds(2);
    duration child_reap = std::chrono::seconds(2);

    /// Changes of the same thing within this time are told to a subscriber as one.
    duration notification_interval = std::chrono::milliseconds(50);

    std::size_t max_message = 16 * 1024 * 1024;  // bytes of one line
    std::size_t max_depth = 512;                 // nesting of JSON
    std::size_t max_batch = 1000;                // messages in one batch array
    std::size_t out_queue =
        8 * 1024 * 1024;  // bytes waiting to be written: at this mark reading pauses (a client: of answers)
    std::size_t out_queue_soft = 1024 * 1024;   // above this, progress is merged and log messages are dropped
    std::size_t max_in_flight = 256;            // handlers of one connection
    std::size_t max_in_flight_total = 4096;     // handlers of one server
    std::size_t max_listens = 64;               // open subscriptions/listen requests of one connection
    std::size_t max_subscriptions = 1024;       // resources that one connection is subscribed to
    std::size_t max_uri = 8 * 1024;             // bytes of the URI of one of them
    unsigned anonymous_errors_per_second = 10;  // errors that cannot carry an id
};

}  // namespace keel
