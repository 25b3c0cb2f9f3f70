#pragma once

// What is still to be written on one stream, as bytes with frames marked in them.

#include "rpc/outlet.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::rpc {

/// Frames that wait for the writer, as one contiguous text. A frame whose first byte was handed to the system is
/// completed whatever happens; any other can be withdrawn (rules B4, B5, D6).
class outbox final : public outlet {
public:
    ~outbox() = default;

    /// The bytes to hand to the system next; empty when there is nothing to do.
    std::string_view pending() const noexcept { return std::string_view(bytes_).substr(written_); }
    std::size_t size() const noexcept { return bytes_.size() - written_; }
    bool empty() const noexcept { return size() == 0; }
    /// Of these, what belongs to frames that the peer has asked for: answers, and what is said before them.
    std::size_t replies() const noexcept { return replies_; }
    /// The system took the first `n` bytes of pending().
    void wrote(std::size_t n);

    std::string& begin(const frame&) override {
        if (bytes_.capacity() - bytes_.size() < spare_room) make_room();
        return bytes_;
    }
    /// Ends the frame with a newline.
    std::uint64_t end(const frame& about) override;
    std::uint64_t first_to_withdraw() const noexcept override;
    std::size_t withdraw(serial owner) override;
    serial owner_of_answer(const request_id& id) const noexcept override;
    std::size_t waiting(stream_id) const noexcept override { return size(); }
    void unanswered(stream_id, const request_id&) override {}
    bool may_ask(stream_id) const noexcept override { return true; }
    void flush() override {}
    void release(stream_id, duration) override {}
    /// Everything, also a frame that is half written: the stream is dead.
    void clear() noexcept;

private:
    static constexpr std::size_t spare_room = 4096;

    struct queued {
        std::size_t end = 0;  // in bytes_
        serial owner = 0;
        std::uint64_t number = 0;
        request_id answers;
        bool reply = false;
    };

    std::size_t first_unstarted() const noexcept;
    std::size_t length_of(std::size_t frame) const noexcept {
        return frames_[frame].end - (frame == 0 ? 0 : frames_[frame - 1].end);
    }
    void compact() noexcept;
    void make_room();

    std::string bytes_;
    std::size_t written_ = 0;
    std::vector<queued> frames_;  // frames_[done_] is the first that is not written completely
    std::size_t done_ = 0;
    std::size_t replies_ = 0;  // bytes of frames that are replies and not written completely
    std::uint64_t next_number_ = 1;
};

}  // namespace keel::rpc
