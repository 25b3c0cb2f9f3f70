#pragma once

// A byte stream to one peer. The library's own are made by keel/transport.hpp; a program may bring another.

#include <keel/version.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI {

/// Two directions of bytes, driven by one loop. All functions and all calls to the listener happen on that loop.
class KEEL_API connection {
public:
    /// Who hears of what happens. Not called after close, and never from inside start, write, pause, resume or close.
    class listener {
    public:
        virtual void on_input(std::string_view bytes) = 0;
        /// The peer will send no more; output may still work. Nothing is read afterwards.
        virtual void on_input_end() = 0;
        /// Either direction broke, or the peer hung up on our output: nothing works any more.
        virtual void on_failure(std::string_view cause) = 0;
        /// A write that was cut short may go on.
        virtual void on_writable() = 0;

    protected:
        ~listener() = default;
    };

    struct written {
        std::size_t bytes = 0;  // taken by the system; fewer than asked for: on_writable follows
        std::string failure;    // not empty: the output is dead, and on_writable does not follow
    };

    connection() = default;
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    /// Closes.
    virtual ~connection() = default;

    /// Begins to read and to watch for hang-up. Once.
    virtual void start(listener&) = 0;
    /// Hands bytes to the system without waiting.
    virtual written write(std::string_view bytes) = 0;
    /// Stops reading for a while: input stays where it is. Hang-up is still noticed.
    virtual void pause() noexcept = 0;
    virtual void resume() = 0;
    /// Nothing more will be written, and the peer is told, if that can be done without closing. Input goes on.
    virtual void end_output() noexcept {}
    /// Ends both directions; what write has taken is still delivered. Idempotent.
    virtual void close() noexcept = 0;
    /// For logs: "stdio", "unix /run/x.sock", "tcp 127.0.0.1:5000".
    virtual std::string describe() const = 0;
};

}  // namespace keel
