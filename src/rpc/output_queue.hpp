#pragma once

// The messages that wait to be written to a byte stream, with their boundaries.

#include "async/spare_buffers.hpp"
#include "rpc/message_sink.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::rpc {

/// Newline-delimited messages as one contiguous text. A message of which a byte was written will be completed; any other can be
/// withdrawn (rules B4, B5, D6).
class output_queue {
public:
    explicit output_queue(async::spare_buffers* spares = nullptr) noexcept : spares_(spares) {}
    output_queue(const output_queue&) = delete;
    output_queue& operator=(const output_queue&) = delete;
    ~output_queue() = default;

    /// The bytes to write next; empty when there is nothing to write.
    std::string_view pending() const noexcept { return std::string_view(bytes_).substr(written_); }
    std::size_t size() const noexcept { return bytes_.size() - written_; }
    bool empty() const noexcept { return size() == 0; }
    /// The bytes of all messages that are replies (outgoing_message::is_reply) and not completely written.
    std::size_t reply_bytes() const noexcept { return reply_bytes_; }
    /// The first `n` bytes of pending() were written.
    void on_written(std::size_t n);

    /// Append one message to the returned buffer, then call end, which adds the newline. `size` is the size of a large message, if known.
    std::string& begin(std::size_t size = 0) {
        if (bytes_.capacity() - bytes_.size() < size + spare_room) make_room(size);
        return bytes_;
    }
    void end(const outgoing_message& about);

    // See unsent_messages.
    std::size_t withdraw(serial owner);
    serial owner_of_response(const request_id& id) const noexcept;
    std::uint64_t newest() const noexcept { return next_number_ - 1; }
    std::uint64_t oldest_unsent() const noexcept;

    /// Removes everything, also a message that is half written.
    void clear() noexcept;

private:
    static constexpr std::size_t spare_room = 4096;

    struct queued {
        std::size_t end = 0;  // in bytes_
        serial owner = 0;
        std::uint64_t number = 0;
        request_id answered_id;
        bool reply = false;
    };

    std::size_t first_unsent() const noexcept;
    std::size_t length_of(std::size_t index) const noexcept {
        return messages_[index].end - (index == 0 ? 0 : messages_[index - 1].end);
    }
    void compact() noexcept;
    void make_room(std::size_t size);

    async::spare_buffers* const spares_;
    std::string bytes_;
    std::size_t written_ = 0;
    std::vector<queued> messages_;  // messages_[done_] is the first that is not completely written
    std::size_t done_ = 0;
    std::size_t reply_bytes_ = 0;
    std::uint64_t next_number_ = 1;
};

}  // namespace keel::rpc
