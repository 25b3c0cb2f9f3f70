#pragma once

// One connection to a server: from its making over one request after the other to its end.

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

/// What the pool knows of a request. Owned by the pool, until its user has heard of its end.
struct transfer {
    transfer_pool::id number = 0;
    transfer_user* user = nullptr;
    transfer_request what;  // while it is on a connection, its body is in that one's buffer
    const server_address* to = nullptr;
    client_connection* on = nullptr;
    unsigned redirections = 0;
    bool paused = false;
    bool left = false;  // some of it was handed to the system
    bool failing = false;
    transfer_failure failure = transfer_failure::lost;  // when it is failing
    std::string why = {};
};

/// What a connection says to its pool. A connection that is gone has no transfer any more.
class connection_owner {
public:
    /// It can take a transfer.
    virtual void on_free(client_connection&) = 0;
    /// It could not be made, and is gone.
    virtual void on_no_connection(client_connection&, std::string why) = 0;
    virtual void on_gone(client_connection&) = 0;
    /// The response to it is complete.
    virtual void on_complete(transfer&) = 0;
    /// Its connection is gone. `later`: the user may not be called now.
    virtual void on_broken(transfer&, transfer_failure, std::string why, bool later) = 0;
    /// Its connection is gone, and has taken nothing of it. `reused`: the connection had served others before.
    virtual void on_unsent(transfer&, std::string why, bool reused) = 0;
    /// True: the owner has taken the transfer back, for another request.
    virtual bool on_redirection(transfer&, const response_view&) = 0;
    /// After on_redirection, when the connection has done with it what it can.
    virtual void on_redirected() = 0;
    /// check_time is to be called then.
    virtual void on_deadline(time_point when) = 0;

protected:
    ~connection_owner() = default;
};

/// Owned by its pool, and by whatever calls it while that call lasts: users may end anything from inside theirs. Everything on the loop.
class client_connection final : private connection::listener, public std::enable_shared_from_this<client_connection> {
public:
    /// All of these outlive it, the owner until close. `newest` is the last transfer that there was when it was made.
    client_connection(connection_owner&, loop&, const pool_options&, const server_address& to,
                      transfer_pool::id newest);
    ~client_connection();

    /// Begins, once. The owner may be told of the outcome before this returns.
    void dial(const dialer& how);
    /// Only to one that is free. Calls no user.
    void send(transfer&);
    void pause() noexcept;
    /// The transfer is not paused any more.
    void resume();
    /// For good, and without a word to anybody. Idempotent.
    void close() noexcept;
    void check_time(time_point now);
    /// The body of the request it has sent, which it has no more then.
    std::string take_back_body();

    const server_address& to() const noexcept { return to_; }
    transfer_pool::id newest() const noexcept { return newest_; }
    bool connecting() const noexcept { return phase_ < phase::free; }
    bool is_free() const noexcept { return phase_ == phase::free; }
    /// Null when it is free, or reads the rest of a response that nobody wants.
    const transfer* serves() const noexcept { return transfer_; }
    /// It has served a request.
    bool used() const noexcept { return used_; }
    time_point deadline() const noexcept { return deadline_; }

private:
    enum class phase : std::uint8_t {
        dialing,
        tunnelling,  // asking the proxy
        securing,    // agreeing on keys
        free,
        busy,  // with a transfer, or with the rest of a response that nobody wants
        closed,
    };
    /// What came while the transfer was paused, behind the bytes that are held.
    enum class ending : std::uint8_t { none, end, failure };

    // What the wire says.
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

    std::shared_ptr<detail::activity> dialing_;  // the other owner is what it runs
    std::unique_ptr<proxy_tunnel> tunnel_;
    std::unique_ptr<connection> wire_;
    tls::tls_connection* tls_ = nullptr;  // wire_, when it is one
    transfer* transfer_ = nullptr;
    response_reader reader_;

    std::string out_;  // the request, until its response has begun
    std::size_t body_at_ = 0;
    std::size_t written_ = 0;
    std::string held_;  // input for a transfer that is paused
    std::string cause_;
    std::size_t drained_ = 0;
    time_point deadline_ = time_point::max();

    phase phase_ = phase::dialing;
    ending ending_ = ending::none;
    bool blocked_ = false;  // a write was cut short
    bool wire_paused_ = false;
    bool sent_ = false;  // some of the request at hand was taken
    bool used_ = false;
    bool redirected_ = false;
};

}  // namespace keel::http_client
