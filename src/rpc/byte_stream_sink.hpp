#pragma once

// The sink for a byte stream, without I/O: newline-delimited messages in a queue, the write timeout, and when to pause reading.

#include "rpc/message.hpp"
#include "rpc/output_queue.hpp"

#include <keel/limits.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::rpc {

/// The driver writes pending(), then calls on_written of the sink and on_drained of the core. connection_io is that driver; tests and
/// the explorer bring their own.
class byte_stream_sink : public message_sink, private unsent_messages, private write_queue {
public:
    byte_stream_sink(role r, const limits& bounds, async::spare_buffers* spares = nullptr) noexcept;

    /// The bytes to write next; empty when there is nothing to write.
    std::string_view pending() const noexcept { return queue_.pending(); }
    /// The first `bytes` bytes of pending() were written. Ignored after discard.
    void on_written(std::size_t bytes, time_point now) noexcept;
    /// True while so many bytes are queued that reading on would only add to them: from `limits::out_queue` until fewer than
    /// `limits::out_queue_soft` are left. A client counts only replies: its own requests do not grow by reading on, and the
    /// responses to them must not be held up.
    bool wants_pause() const noexcept { return paused_; }

    // message_sink
    std::string& begin(const outgoing_message& about) override {
        return queue_.begin(about.swaps && queue_.empty() ? 0 : about.size);
    }
    void end(const outgoing_message& about) override;
    std::size_t queued_bytes(stream_id) const noexcept override { return queue_.size(); }
    /// Starts the write timeout, `limits::write_stall`, if bytes are left.
    void flush(time_point now) override {
        if (!stall_deadline_ && !queue_.empty()) start_stall_clock(now);
    }
    unsent_messages* unsent() noexcept override { return this; }
    write_queue* queue() noexcept override { return this; }

private:
    // unsent_messages
    std::size_t withdraw(serial owner) override;
    serial owner_of_response(const request_id& id) const noexcept override { return queue_.owner_of_response(id); }
    std::uint64_t newest() const noexcept override { return queue_.newest(); }
    std::uint64_t oldest_unsent() const noexcept override { return queue_.oldest_unsent(); }

    // write_queue
    void discard() noexcept override;

    std::size_t bytes_that_pause() const noexcept { return replies_only_ ? queue_.reply_bytes() : queue_.size(); }
    void start_stall_clock(time_point now) noexcept;
    void on_shrunk() noexcept;

    output_queue queue_;
    const std::size_t hard_mark_;
    const std::size_t soft_mark_;
    const duration write_stall_;
    const bool replies_only_;
    bool paused_ = false;
};

}  // namespace keel::rpc
