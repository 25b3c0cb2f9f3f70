#include "rpc/byte_stream_sink.hpp"

#include "rpc/planted.hpp"

namespace keel::inline KEEL_ABI::rpc {

byte_stream_sink::byte_stream_sink(role r, const limits& bounds, async::spare_buffers* spares) noexcept
    : queue_(spares), hard_mark_(bounds.out_queue), soft_mark_(bounds.out_queue_soft), write_stall_(bounds.write_stall),
      replies_only_(r == role::client) {}

void byte_stream_sink::end(const outgoing_message& about) {
    queue_.end(about);
    if (bytes_that_pause() >= hard_mark_) paused_ = true;
}

void byte_stream_sink::start_stall_clock(time_point now) noexcept {
    if (!planted::is(planted::stall_clock_not_started)) stall_deadline_ = after(now, write_stall_);
}

void byte_stream_sink::on_written(std::size_t bytes, time_point now) noexcept {
    if (bytes == 0 || queue_.empty()) return;
    queue_.on_written(bytes);
    // The peer has read something: what is left has the full time again.
    if (!queue_.empty() || planted::is(planted::stall_clock_runs_on)) stall_deadline_ = after(now, write_stall_);
    on_shrunk();
}

std::size_t byte_stream_sink::withdraw(serial owner) {
    std::size_t withdrawn = queue_.withdraw(owner);
    if (withdrawn > 0) on_shrunk();
    return withdrawn;
}

void byte_stream_sink::on_shrunk() noexcept {
    if (queue_.empty() && !planted::is(planted::stall_clock_runs_on)) stall_deadline_.reset();
    if (bytes_that_pause() < soft_mark_ && !planted::is(planted::reading_stays_paused)) paused_ = false;
}

void byte_stream_sink::discard() noexcept {
    queue_.clear();
    stall_deadline_.reset();
    paused_ = false;
}

}  // namespace keel::rpc
