#include "rpc/keep_alive.hpp"

#include <keel/error.hpp>

#include <optional>

namespace keel::inline KEEL_ABI::rpc {

/// Shared with the ping in flight, which may end after the session.
class keep_alive::watch : public std::enable_shared_from_this<watch> {
public:
    watch(const std::shared_ptr<peer>& p, duration interval, std::function<void(peer&)> silent)
        : peer_(p), loop_(p->shared_loop()), interval_(interval), silent_(std::move(silent)),
          heard_(p->core().count().received) {}

    void arm() {
        timer_ = start_timer_after(*loop_, interval_, [weak = weak_from_this()] {
            if (auto self = weak.lock()) self->check();
        });
    }

    void end() {
        ended_ = true;
        loop_->stop_timer(std::exchange(timer_, 0));
    }

private:
    void check() {
        timer_ = 0;
        auto p = peer_.lock();
        if (ended_ || !p || p->closed()) return;
        std::uint64_t received = p->core().count().received;
        if (std::exchange(heard_, received) != received) return arm();
        peer::call_options_with_progress options;
        options.idle = options.total = interval_;
        line_.emplace(*loop_);
        detail::start(*line_, peer::ask(std::move(p), nullptr, "ping", json::value(), std::move(options)),
                      [self = shared_from_this()](detail::outcome<json::value> answer) { self->judge(answer); });
    }

    void judge(const detail::outcome<json::value>& answer) {
        if (ended_) return;
        if (answer.index() == 0) {
            try {
                std::rethrow_exception(std::get<0>(answer));
            } catch (const keel::error& e) {
                switch (e.kind()) {
                    case error_kind::timed_out:
                    case error_kind::unavailable:  // over HTTP: the server is not reachable
                    case error_kind::stream_lost: return give_up();
                    case error_kind::closed: return;
                    default: break;  // any response shows that the peer is alive, also an error
                }
            } catch (const cancelled&) {
                return;
            }
        }
        if (auto p = peer_.lock()) heard_ = p->core().count().received;
        arm();
    }

    void give_up() {
        loop_->post([self = shared_from_this()] {
            auto p = self->peer_.lock();
            if (p && !self->ended_) self->silent_(*p);
        });
    }

    const std::weak_ptr<peer> peer_;
    const std::shared_ptr<keel::loop> loop_;
    const duration interval_;
    const std::function<void(peer&)> silent_;
    loop::timer timer_ = 0;
    std::uint64_t heard_;  // messages received at the last check
    bool ended_ = false;
    std::optional<detail::activity> line_;
};

void keep_alive::start(const std::shared_ptr<peer>& p, duration interval, std::function<void(peer&)> silent) {
    end();
    if (interval <= duration::zero()) return;
    watch_ = std::make_shared<watch>(p, interval, std::move(silent));
    watch_->arm();
}

void keep_alive::end() {
    if (watch_) watch_->end();
    watch_.reset();
}

}  // namespace keel::rpc
