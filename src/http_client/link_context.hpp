#pragma once

// What the parts of an http_link share: the loop, the connections, the limits, the peer, and the log.

#include "client/link.hpp"
#include "http_client/transfer.hpp"
#include "rpc/peer.hpp"

#include <keel/limits.hpp>
#include <keel/loop.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace keel::inline KEEL_ABI::http_client {

/// Owned by the http_link, and outlives its other parts. Used on the loop only.
class link_context {
public:
    /// `max_body`: bytes of one response or one event.
    link_context(std::shared_ptr<loop> on, std::unique_ptr<transfer_pool> pool, std::size_t max_body);
    link_context(const link_context&) = delete;
    link_context& operator=(const link_context&) = delete;
    ~link_context() = default;

    /// Called before the peer is created.
    void open(const limits& bounds, client_side::link_user& user);
    void set_peer(std::shared_ptr<rpc::peer> p) noexcept { peer_ = std::move(p); }

    std::size_t max_body() const noexcept { return max_body_; }
    const limits& bounds() const noexcept { return bounds_; }
    bool is_open() const noexcept { return peer_ != nullptr; }
    // Both must not be called before the link was opened.
    client_side::link_user& user() const noexcept { return *user_; }
    rpc::peer& peer() const noexcept { return *peer_; }

    // ---- the loop ----
    time_point now() const noexcept { return loop_->now(); }
    loop::timer start_timer(duration after, std::function<void()> work);
    /// Sets the timer to 0.
    void stop_timer(loop::timer& which) noexcept { loop_->stop_timer(std::exchange(which, 0)); }
    void post(std::function<void()> work) { loop_->post(std::move(work)); }
    /// Posts `f`, which is not called after the link was destroyed.
    template <class F>
    void later(F f);

    // ---- connections ----
    bool connected() const noexcept { return pool_ != nullptr; }
    const transfer_pool& pool() const noexcept { return *pool_; }
    transfer_pool::id start(transfer_request what, transfer_user& user) { return pool_->start(std::move(what), user); }
    /// Ends a transfer, if there is one, and sets its id to 0.
    void cancel(transfer_pool::id& which) noexcept;
    bool unsent(transfer_pool::id which) const noexcept { return pool_ && which != 0 && pool_->unsent(which); }
    /// Ends all transfers without callbacks and closes all connections.
    void disconnect() noexcept { pool_.reset(); }

    /// Writes a line to the log of the client, unless there were too many.
    void note(const std::string& text);

private:
    const std::shared_ptr<loop> loop_;
    std::unique_ptr<transfer_pool> pool_;
    const std::size_t max_body_;
    limits bounds_;
    client_side::link_user* user_ = nullptr;
    std::shared_ptr<rpc::peer> peer_;
    rpc::rate_limiter reports_{10};
    std::shared_ptr<char> alive_ = std::make_shared<char>();  // expires with the link; posted work checks it
};

template <class F>
void link_context::later(F f) {
    loop_->post([still = std::weak_ptr<char>(alive_), f = std::move(f)] {
        if (!still.expired()) f();
    });
}

}  // namespace keel::http_client
