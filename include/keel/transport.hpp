#pragma once

// Connections over stdio, sockets and memory, all with one message per line.
//
// The loop must be one of the library's (see keel/asio.hpp), except for memory_pair, which takes any. Not thread-safe: call
// everything on the loop. The functions throw std::system_error or std::invalid_argument if they fail.

#include <keel/connection.hpp>
#include <keel/loop.hpp>
#include <keel/task.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace keel::inline KEEL_ABI {

/// The process's standard input and output as a connection.
struct KEEL_API stdio {
    std::unique_ptr<connection> wire;
    /// Standard input is a regular file: all requests in it are to be answered after end of input.
    bool input_is_file = false;
};

struct KEEL_API stdio_options {
    /// The connection fails when the client process ends, even if another process keeps standard input open. Without it, only the
    /// end of input and a closed output count. docs/lifecycle.md describes how the client is found.
    bool watch_client = false;
};

/// Takes over standard input and output until the connection is closed. The connection uses private descriptors; fd 0 reads end
/// of file, and fd 1 goes to standard error, so that a printf or a child process cannot corrupt the protocol. close() restores
/// both. Throws std::logic_error if standard input and output are already taken.
KEEL_API stdio open_stdio(loop&, stdio_options = {});

/// Opens /dev/null for the descriptors 0, 1 and 2 that are closed, so that no other file gets their numbers. open_stdio does it
/// too; call this first in a program that opens anything (for example a loop) before.
KEEL_API void open_missing_standard_descriptors();

/// Like open_stdio, but returns only the connection.
inline std::unique_ptr<connection> stdio_connection(loop& l) { return std::move(open_stdio(l).wire); }

/// A host and a port: "127.0.0.1:8848", "[::1]:0", "localhost:80". Port 0 lets the system choose.
struct KEEL_API tcp_address {
    std::string host;
    std::uint16_t port = 0;

    /// Throws std::invalid_argument if the text is invalid.
    static tcp_address parse(std::string_view text);
    std::string text() const;
    bool operator==(const tcp_address&) const = default;
};

/// Accepts connections until it is closed or destroyed. If the process runs out of descriptors, it pauses and retries.
class KEEL_API listener {
public:
    using accepted = std::function<void(std::unique_ptr<connection>)>;

    listener() = default;
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;
    /// Closes the listener. Accepted connections stay open.
    virtual ~listener() = default;

    /// Stops accepting connections and removes the file of a Unix socket. Idempotent; may be called from `accepted`.
    virtual void close() noexcept = 0;
    /// The address with the actual port: "unix /run/x.sock", "tcp 127.0.0.1:41234".
    virtual std::string describe() const = 0;
    /// The TCP port, or 0 for a Unix socket.
    virtual std::uint16_t port() const noexcept = 0;
};

struct KEEL_API listen_options {
    /// Maximum number of open connections; further peers wait in the queue of the operating system.
    std::size_t max_connections = 1024;
};

/// Listens on a Unix socket. Only the user of this process can connect (mode 0600). A stale socket file is replaced; any other
/// file at `path` is an error and is not touched.
KEEL_API std::unique_ptr<listener> listen_unix(loop&, const std::string& path, listener::accepted, listen_options = {});
KEEL_API std::unique_ptr<listener> listen_tcp(loop&, const tcp_address&, listener::accepted, listen_options = {});

KEEL_API std::unique_ptr<connection> connect_unix(loop&, const std::string& path);
/// Connects to each address of the host in turn until one succeeds.
/// Cancellation: the attempt is abandoned.
KEEL_API task<std::unique_ptr<connection>> connect_tcp(loop&, tcp_address to);

/// Creates the two ends of a connection in memory. Each end belongs to its own loop; the loops may run on different threads. Each
/// direction buffers at most `capacity` bytes. When one end is closed, the other reads end of input and its writes fail.
KEEL_API std::pair<std::unique_ptr<connection>, std::unique_ptr<connection>> memory_pair(loop& a, loop& b,
                                                                                         std::size_t capacity = 64 *
                                                                                                                1024);

}  // namespace keel
