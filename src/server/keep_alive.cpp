#include "server/keep_alive.hpp"

#include <keel/error.hpp>

#include <optional>

namespace keel::server_side {

/// Shared with the question that is under way, which may end after the session.
class keep_alive::watch : public std::enable_shared_from_this<watch> {
public:
    watch(server_core& server, const std::shared_ptr<rpc::peer>& peer, duration interval)
        : server_(server), peer_(peer), loop_(peer->shared_loop()), interval_(interval) {}

    void arm() {
        timer_ = start_timer_after(*loop_, interval_, [weak = weak_from_this()] {
            if (auto self = weak.lock()) self->look();
        });
    }

    void end() {
        ended_ = true;
        loop_->stop_timer(std::exchange(timer_, 0));
    }

private:
    void look() {
        timer_ = 0;
        auto peer = peer_.lock();
        if (ended_ || !peer || peer->closed()) return;
        std::uint64_t received = peer->core().count().received;
        if (std::exchange(heard_, received) != received) return arm();
        rpc::peer::call_options_with_progress options;
        options.idle = options.total = interval_;
        line_.emplace(*loop_);
        detail::start(*line_, rpc::peer::ask(std::move(peer), nullptr, "ping", json::value(), std::move(options)),
                      [self = shared_from_this()](detail::outcome<json::value> answer) { self->judge(answer); });
    }

    void judge(const detail::outcome<json::value>& answer) {
        if (ended_) return;
        if (answer.index() == 0) {
            try {
                std::rethrow_exception(std::get<0>(answer));
            } catch (const error& e) {
                // Any answer is a sign of life, an error too.
                if (e.kind() == error_kind::timed_out) return give_up();
                if (e.kind() == error_kind::closed) return;
            } catch (const cancelled&) {
                return;
            }
        }
        if (auto peer = peer_.lock()) heard_ = peer->core().count().received;
        arm();
    }

    void give_up() {
        server_.log(log_level::warning, "a client did not answer a ping: its connection is closed");
        // In a turn of its own: closing ends sessions, and with them perhaps us.
        loop_->post([weak = peer_] {
            if (auto peer = weak.lock()) peer->close();
        });
    }

    server_core& server_;
    const std::weak_ptr<rpc::peer> peer_;
    const std::shared_ptr<keel::loop> loop_;
    const duration interval_;
    loop::timer timer_ = 0;
    std::uint64_t heard_ = 0;
    bool ended_ = false;
    std::optional<detail::activity> line_;
};

void keep_alive::start(const std::shared_ptr<rpc::peer>& peer, duration interval) {
    if (interval <= duration::zero()) return;
    watch_ = std::make_shared<watch>(server_, peer, interval);
    watch_->arm();
}

void keep_alive::end() {
    if (watch_) watch_->end();
    watch_.reset();
}

}  // namespace keel::server_side
