#pragma once

// One HTTP/1 connection to a server: connecting, a sequence of requests, closing.

#include "http_client/response_reader.hpp"
#include "http_client/server_address.hpp"
#include "http_client/transfer.hpp"

#include <keel/connection.hpp>
#include <keel/loop.hpp>
#include <keel/task.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::tls {
class tls_connection;
}

namespace keel::inline KEEL_ABI::http_client {

class client_connection;
class proxy_tunnel;

/// The state of one request in the pool. Owned by the pool until its user has been notified of its end.
struct transfer {
    transfer_pool::id number = 0;
    transfer_user* user = nullptr;
    transfer_request what;  // while it is on a connection, the body is in the connection's buffer
    const server_address* to = nullptr;
    client_connection* on = nullptr;
    unsigned redirections = 0;
    bool paused = false;
    bool left = false;  // part of it was passed to the kernel
    bool failing = false;
    transfer_failure failure = transfer_failure::lost;  // if failing
    std::string why = {};
};

/// Callbacks of a connection to its pool. A closed connection has no transfer.
class connection_owner {
public:
    /// The connection is ready for a transfer.
    virtual void on_free(client_connection&) = 0;
    /// Connecting failed; the connection is closed.
    virtual void on_no_connection(client_connection&, std::string why) = 0;
    virtual void on_gone(client_connection&) = 0;
    /// The response is complete.
    virtual void on_complete(transfer&) = 0;
    /// The connection closed during the transfer. `later`: the user must not be called now.
    virtual void on_broken(transfer&, transfer_failure, std::string why, bool later) = 0;
    /// The connection closed before any byte of the request was sent. `reused`: it had served other requests before.
    virtual void on_unsent(transfer&, std::string why, bool reused) = 0;
    /// Returns true if the owner has taken the transfer back to follow the redirect.
    virtual bool on_redirection(transfer&, const response_view&) = 0;
    /// Called after on_redirection, when the connection has read or dropped the rest of the response.
    virtual void on_redirected() = 0;
    /// The owner must call check_time at this time.
    virtual void on_deadline(time_point when) = 0;

protected:
    ~connection_owner() = default;
};

/// Owned by its pool, and by its callers during a call, because users may close the pool in a callback. Used on the loop only.
class client_connection final : private connection::listener, public std::enable_shared_from_this<client_connection> {
public:
    /// All arguments must outlive it, the owner until close(). `newest` is the last transfer started before this connection was created.
    client_connection(connection_owner&, loop&, const pool_options&, const server_address& to,
                      transfer_pool::id newest);
    ~client_connection();

    /// Starts connecting. Called once. May call the owner before it returns.
    void dial(const dialer& how);
    /// Only if is_free(). Calls no user.
    void send(transfer&);
    void pause() noexcept;
    /// Resumes reading after pause().
    void resume();
    /// Closes without callbacks. Idempotent.
    void close() noexcept;
    void check_time(time_point now);
    /// Removes and returns the body of the current request.
    std::string take_back_body();

    const server_address& to() const noexcept { return to_; }
    transfer_pool::id newest() const noexcept { return newest_; }
    bool connecting() const noexcept { return phase_ < phase::free; }
    bool is_free() const noexcept { return phase_ == phase::free; }
    /// Null if it is free or discards the rest of a response.
    const transfer* serves() const noexcept { return transfer_; }
    /// True if it has served a request.
    bool used() const noexcept { return used_; }
    time_point deadline() const noexcept { return deadline_; }

private:
    enum class phase : std::uint8_t {
        dialing,
        tunnelling,  // CONNECT sent to the proxy
        securing,    // TLS handshake
        free,
        busy,  // with a transfer, or discarding the rest of a response
        closed,
    };
    /// What followed the buffered input while the transfer was paused.
    enum class ending : std::uint8_t { none, end, failure };

    // connection::listener
    void on_input(std::string_view bytes) override;
    void on_input_end() override;
    void on_failure(std::string_view cause) override;
    void on_writable() override;

    void dialed(detail::outcome<std::unique_ptr<connection>> result);
    void open_tunnel(std::unique_ptr<connection> raw);
    void tunnel_opened(std::string failure);
    void secure(std::unique_ptr<connection> raw);
    void could_not_connect(std::string why);
    void become_free(duration usable_for);

    bool holds() const noexcept { return (transfer_ && transfer_->paused) || !held_.empty(); }
    void take(std::string_view bytes);
    void take_head();
    void pump();
    void input_ended();
    void complete(bool nothing_left);
    void fail(transfer_failure what, std::string why, bool later = false);
    void drop();
    std::string write_out();
    void release_request();
    void set_deadline(duration d);

    connection_owner& owner_;
    loop& loop_;
    const pool_options& options_;
    const server_address& to_;
    const transfer_pool::id newest_;

    std::shared_ptr<detail::activity> dialing_;  // shared with the task it runs
    std::unique_ptr<proxy_tunnel> tunnel_;
    std::unique_ptr<connection> wire_;
    tls::tls_connection* tls_ = nullptr;  // wire_, if it uses TLS
    transfer* transfer_ = nullptr;
    response_reader reader_;

    std::string out_;  // the request, until its response begins
    std::size_t body_at_ = 0;
    std::size_t written_ = 0;
    std::string held_;  // buffered input of a paused transfer
    std::string cause_;
    std::size_t drained_ = 0;
    time_point deadline_ = time_point::max();

    phase phase_ = phase::dialing;
    ending ending_ = ending::none;
    bool blocked_ = false;  // a write was incomplete
    bool wire_paused_ = false;
    bool sent_ = false;  // part of the current request was written
    bool used_ = false;
    bool redirected_ = false;
};

}  // namespace keel::http_client
