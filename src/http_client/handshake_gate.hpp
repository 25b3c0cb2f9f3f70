#pragma once

// Messages wait until the server has answered notifications/initialized (revisions before 2026-07-28).

#include <keel/loop.hpp>

#include <functional>

namespace keel::inline KEEL_ABI::http_client {

class link_context;
class link_exchange;

/// Closed from the moment in which notifications/initialized is queued until the server has answered it, for at most 5 seconds: a
/// server may reject other messages before. Owned by the http_link; used on its loop only.
class handshake_gate {
public:
    /// `on_open` is called whenever the gate opens.
    handshake_gate(link_context& context, std::function<void()> on_open) noexcept;
    handshake_gate(const handshake_gate&) = delete;
    handshake_gate& operator=(const handshake_gate&) = delete;
    ~handshake_gate() { stop(); }

    bool is_closed() const noexcept { return awaited_ != nullptr; }
    bool waits_for(const link_exchange& x) const noexcept { return awaited_ == &x; }
    /// Closes the gate until x is answered or over.
    void close_until(const link_exchange& x);
    /// x is answered or over.
    void answered(const link_exchange& x);
    /// Stops the timer.
    void stop() noexcept;

private:
    link_context& context_;
    const std::function<void()> on_open_;
    const link_exchange* awaited_ = nullptr;
    loop::timer timer_ = 0;
};

}  // namespace keel::http_client
