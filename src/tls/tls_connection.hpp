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

/// The side is that of the session: a server's waits for the peer, a client's begins the handshake when it is started.
///
/// What a connection costs is bounded: one record of input, and of output about 64 KiB of cipher text that the
/// connection below does not take. Idle, it keeps neither.
///
/// - `write` takes nothing before the handshake is done, and on_writable follows. How long a handshake may take is the
///   owner's affair: see `handshaken`. While paused it stands still.
/// - A client that does not trust the server tells it so; on_failure says which host and what is wrong with its
///   certificate.
/// - The peer's close_notify is the end of input, and so is an end without it: HTTP says itself where a message ends.
///   In the middle of a handshake an end is a failure.
/// - `close` says close_notify. What `write` has taken but the connection below has not is still delivered: it is
///   closed when that is done, or after `last_words`. If the loop ends before, it is closed by that.
///
/// Owned by whoever uses the connection; may be closed or destroyed inside any call to its listener.
class tls_connection final : public connection {
public:
    /// `raw` is not started yet, and neither is the session (tls_client_context::new_session). Throws
    /// std::runtime_error. The loop outlives it; the context that made the session need not.
    tls_connection(loop&, std::unique_ptr<connection> raw, session, duration last_words = limits{}.write_stall);
    /// The server's side.
    tls_connection(loop&, std::unique_ptr<connection> raw, const tls_context&,
                   duration last_words = limits{}.write_stall);
    ~tls_connection() override;

    void start(listener&) override;
    written write(std::string_view bytes) override;
    void pause() noexcept override;
    void resume() override;
    void close() noexcept override;
    std::string describe() const override;

    /// Both sides have agreed on keys; until then there is no input.
    bool handshaken() const noexcept;

private:
    class stream;
    std::shared_ptr<stream> stream_;  // the other owner is the loop, while last words are on their way
};

}  // namespace keel::tls
