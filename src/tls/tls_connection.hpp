#pragma once

// TLS over any connection, from either side.

#include "tls/tls_context.hpp"
#include "tls/tls_session.hpp"

#include <keel/connection.hpp>
#include <keel/limits.hpp>
#include <keel/loop.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::tls {

/// The session determines the side: a server waits for the peer, a client starts the handshake in `start`.
///
/// Memory is bounded: one record of input, and about 64 KiB of cipher text that the connection below has not accepted.
/// An idle connection keeps neither.
///
/// - `write` accepts nothing before the handshake is done; on_writable follows then. The handshake has no timeout of its
///   own: the owner checks `handshaken`. While the connection is paused, the handshake does not proceed.
/// - A client that does not trust the server sends an alert; on_failure names the host and the reason.
/// - The peer's close_notify is the end of input, and so is an end without it, because HTTP marks the end of its messages
///   itself. An end during the handshake is a failure.
/// - `close` sends close_notify. Output that `write` has accepted is still sent: the connection below is closed after
///   that, after `flush_timeout`, or when the loop ends.
///
/// May be closed or destroyed inside any call to its listener.
class tls_connection final : public connection {
public:
    /// `raw` and the session (tls_client_context::new_session) must not be started yet. The loop must outlive this
    /// object; the context that created the session need not. Throws std::runtime_error.
    tls_connection(loop&, std::unique_ptr<connection> raw, session, duration flush_timeout = limits{}.write_stall);
    tls_connection(loop&, std::unique_ptr<connection> raw, const tls_context&,
                   duration flush_timeout = limits{}.write_stall);
    ~tls_connection() override;

    void start(listener&) override;
    written write(std::string_view bytes) override;
    void pause() noexcept override;
    void resume() override;
    void expect_more_input() noexcept override;
    void close() noexcept override;
    std::string describe() const override;

    /// True after the handshake; there is no input before it.
    bool handshaken() const noexcept;

private:
    class stream;
    std::shared_ptr<stream> stream_;  // also owned by the loop while the last output is being sent
};

}  // namespace keel::tls
