#pragma once

// A byte stream to one peer. keel/transport.hpp creates connections; a program may implement its own.

#include <keel/version.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI {

/// A bidirectional byte stream that belongs to one loop. All its functions, and all calls to its listener, happen on that loop.
class KEEL_API connection {
public:
    /// Receives the events of a connection. Never called after close(), nor from within start, write, pause, resume or close.
    class listener {
    public:
        virtual void on_input(std::string_view bytes) = 0;
        /// Asked before a read: where to put the bytes, if the listener has room for the rest of a large message; otherwise empty.
        /// A connection need not ask. If it reads into this room, it passes a view of its start to on_input.
        virtual std::span<char> input_room() { return {}; }
        /// The peer has closed its output. Nothing is read afterwards; writing may still work.
        virtual void on_input_end() = 0;
        /// Reading or writing failed, or the peer closed the connection. Neither direction works any more.
        virtual void on_failure(std::string_view cause) = 0;
        /// After an incomplete write: more bytes can be written now.
        virtual void on_writable() = 0;

    protected:
        ~listener() = default;
    };

    struct written {
        std::size_t bytes = 0;  // number of bytes accepted; if fewer than given, on_writable follows
        std::string failure;    // not empty: writing failed for good, and on_writable does not follow
    };

    connection() = default;
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    /// Closes the connection.
    virtual ~connection() = default;

    /// Starts reading and watching for disconnection. Call it once. The listener must outlive the connection or its close().
    virtual void start(listener&) = 0;
    /// Writes as many bytes as possible without blocking.
    virtual written write(std::string_view bytes) = 0;
    /// Stops reading until resume() (backpressure). Disconnection is still reported.
    virtual void pause() noexcept = 0;
    virtual void resume() = 0;
    /// A hint: the input so far ends in the middle of a message. A TCP client then acknowledges it at once, because a server without
    /// TCP_NODELAY sends the rest only after that, and the system would delay the acknowledgement by 40 ms.
    virtual void expect_more_input() noexcept {}
    /// Closes the output direction, if the transport can do that without closing the input.
    virtual void end_output() noexcept {}
    /// Closes both directions. Bytes that write() accepted are still delivered. Idempotent.
    virtual void close() noexcept = 0;
    /// For logs: "stdio", "unix /run/x.sock", "tcp 127.0.0.1:5000".
    virtual std::string describe() const = 0;
};

}  // namespace keel
