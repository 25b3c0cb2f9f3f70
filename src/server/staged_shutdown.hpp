#pragma once

// The first stage of a shutdown: load balancers get time to notice that this process is ending, while it still serves them.

#include <keel/loop.hpp>

#include <cstdint>
#include <functional>
#include <utility>

namespace keel::inline KEEL_ABI::server_side {

/// serving → unready (for `delay`) → draining. Not thread-safe: call everything on the loop, which must outlive this object. The
/// callbacks must not destroy this object.
class staged_shutdown {
public:
    enum class stage : std::uint8_t { serving, unready, draining };

    /// `announce` is called when the shutdown begins, `drain` when the delay has passed, each at most once. Without a delay `drain`
    /// follows immediately.
    staged_shutdown(loop& on, duration delay, std::function<void()> announce, std::function<void()> drain)
        : loop_(on), delay_(delay), announce_(std::move(announce)), drain_(std::move(drain)) {}
    ~staged_shutdown() { loop_.stop_timer(timer_); }
    staged_shutdown(const staged_shutdown&) = delete;
    staged_shutdown& operator=(const staged_shutdown&) = delete;

    /// Begins the shutdown. Idempotent.
    void begin() {
        if (stage_ != stage::serving) return;
        stage_ = stage::unready;
        announce_();
        if (delay_ <= duration::zero()) return drain_now();
        timer_ = start_timer_after(loop_, delay_, [this] {
            timer_ = 0;
            drain_now();
        });
    }
    /// Ends the delay. Begins the shutdown if that has not happened. Idempotent.
    void drain_now() {
        if (stage_ == stage::draining) return;
        bool announced = stage_ == stage::unready;
        stage_ = stage::draining;
        loop_.stop_timer(std::exchange(timer_, 0));
        if (!announced) announce_();
        drain_();
    }
    stage now() const noexcept { return stage_; }

private:
    loop& loop_;
    const duration delay_;
    std::function<void()> announce_;
    std::function<void()> drain_;
    loop::timer timer_ = 0;
    stage stage_ = stage::serving;
};

}  // namespace keel::server_side
