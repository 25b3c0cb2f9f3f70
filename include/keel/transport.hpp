#pragma once

// Byte streams to a peer, all with the framing of stdio: one message per line.
//
// The loop must be one of the library's own (see keel/asio.hpp), except for memory_pair, which takes any. Everything
// here is used on its loop. What cannot be set up throws std::system_error or std::invalid_argument with a sentence
// that says what and why.

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
    /// Standard input is a regular file: whoever wrote it waits for no answer but wants them all.
    bool input_is_file = false;
};

/// Takes over standard input and output until the connection is closed: the wire gets private descriptors, fd 0 reads
/// end-of-file and fd 1 goes to standard error, so that a stray printf or a child process cannot touch the wire. Both
/// are given back by close. One at a time: a second throws std::logic_error.
KEEL_API stdio open_stdio(loop&);

/// Opens /dev/null for those of the descriptors 0, 1 and 2 that are closed: the next thing a program opens would get their
/// number. open_stdio does it too, but a program that opens anything earlier, a loop for instance, does it first.
KEEL_API void open_missing_standard_descriptors();

/// open_stdio for those who need the connection only.
inline std::unique_ptr<connection> stdio_connection(loop& l) { return std::move(open_stdio(l).wire); }

/// "127.0.0.1:8848", "[::1]:0", "localhost:80". Port 0 lets the system choose.
struct KEEL_API tcp_address {
    std::string host;
    std::uint16_t port = 0;

    /// Throws std::invalid_argument with a sentence naming what is wrong.
    static tcp_address parse(std::string_view text);
    std::string text() const;
    bool operator==(const tcp_address&) const = default;
};

/// Accepts connections until it is closed or destroyed. Running out of descriptors pauses it for a moment.
class KEEL_API listener {
public:
    using accepted = std::function<void(std::unique_ptr<connection>)>;

    listener() = default;
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;
    /// Closes. Connections it has accepted live on.
    virtual ~listener() = default;

    /// No further connections. A Unix socket's file is removed. Idempotent; may be called from `accepted`.
    virtual void close() noexcept = 0;
    /// "unix /run/x.sock", "tcp 127.0.0.1:41234"; with the port that was chosen.
    virtual std::string describe() const = 0;
    /// TCP: the port; else 0.
    virtual std::uint16_t port() const noexcept = 0;
};

struct KEEL_API listen_options {
    /// Open at the same time; further peers wait in the system's queue.
    std::size_t max_connections = 1024;
};

/// Only the user who runs the process can connect (mode 0600). A socket file that nobody serves any more is replaced;
/// anything else at `path` is left alone, and an error.
KEEL_API std::unique_ptr<listener> listen_unix(loop&, const std::string& path, listener::accepted, listen_options = {});
KEEL_API std::unique_ptr<listener> listen_tcp(loop&, const tcp_address&, listener::accepted, listen_options = {});

KEEL_API std::unique_ptr<connection> connect_unix(loop&, const std::string& path);
/// Tries each address of the host in turn. Runs on the loop that is given.
/// Cancellation: the attempt is dropped.
KEEL_API task<std::unique_ptr<connection>> connect_tcp(loop&, tcp_address to);

/// Two ends of one connection in memory, each on its own loop, which may run on another thread. What one writes the
/// other reads; each direction holds at most `capacity` bytes. Closing one end is end-of-input for the other, whose
/// writes then fail.
KEEL_API std::pair<std::unique_ptr<connection>, std::unique_ptr<connection>> memory_pair(loop& a, loop& b,
                                                                                         std::size_t capacity = 64 *
                                                                                                                1024);

}  // namespace keel
