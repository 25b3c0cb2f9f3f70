#include "rpc/output_queue.hpp"

#include <algorithm>
#include <cstring>

namespace keel::inline KEEL_ABI::rpc {

namespace {
// A buffer up to this size is kept after it was written; a larger one is freed.
constexpr std::size_t kept_capacity = 256 * 1024;
// The buffer for a peer that reads slowly is reserved at once, with 1.5 times the default of limits::out_queue. Memory that is not
// touched costs nothing, and growing step by step would fragment the heap.
constexpr std::size_t stalled_capacity = 12 * 1024 * 1024;
}  // namespace

void output_queue::end(const outgoing_message& about) {
    bytes_ += '\n';
    queued& m = messages_.emplace_back();
    m.end = bytes_.size();
    m.owner = about.owner;
    m.number = next_number_++;
    if (about.answered_id) m.answered_id = *about.answered_id;
    m.reply = about.is_reply();
    if (m.reply) reply_bytes_ += length_of(messages_.size() - 1);
}

std::uint64_t output_queue::oldest_unsent() const noexcept {
    std::size_t first = first_unsent();
    return first < messages_.size() ? messages_[first].number : next_number_;
}

void output_queue::on_written(std::size_t n) {
    written_ += n;
    if (written_ == bytes_.size()) {
        if (bytes_.capacity() > kept_capacity) {
            async::give_back(bytes_, spares_);
            clear();
        } else {
            bytes_.clear();
            messages_.clear();
            written_ = done_ = reply_bytes_ = 0;
        }
        return;
    }
    for (; done_ < messages_.size() && messages_[done_].end <= written_; ++done_) {
        if (messages_[done_].reply) reply_bytes_ -= length_of(done_);
    }
    if (written_ > kept_capacity && written_ > bytes_.size() / 2) compact();
}

// Reuses the room of written bytes first: growing would keep and copy them.
void output_queue::make_room(std::size_t size) {
    if (done_ > 0 && written_ >= bytes_.size() / 4) compact();
    const std::size_t needed = bytes_.size() + size + spare_room;
    if (size > 0 && needed > bytes_.capacity() && needed > kept_capacity) {
        const std::size_t used = bytes_.size();
        async::enlarge(bytes_, used, std::max(needed, 2 * used), spares_);
        bytes_.resize(used);
    } else if (bytes_.size() >= kept_capacity && bytes_.capacity() < stalled_capacity) bytes_.reserve(stalled_capacity);
}

void output_queue::compact() noexcept {
    // A half-written message stays whole: withdraw needs to know where it began.
    std::size_t from = done_ == 0 ? 0 : messages_[done_ - 1].end;
    bytes_.erase(0, from);
    messages_.erase(messages_.begin(), messages_.begin() + static_cast<std::ptrdiff_t>(done_));
    for (queued& m : messages_) m.end -= from;
    written_ -= from;
    done_ = 0;
}

std::size_t output_queue::first_unsent() const noexcept {
    if (done_ == messages_.size()) return done_;
    std::size_t begin = done_ == 0 ? 0 : messages_[done_ - 1].end;
    return written_ > begin ? done_ + 1 : done_;
}

std::size_t output_queue::withdraw(serial owner) {
    std::size_t first = first_unsent();
    std::size_t taken = 0;
    std::size_t to = first == 0 ? 0 : messages_[first - 1].end;
    std::size_t kept = first;
    std::size_t from = to;
    for (std::size_t i = first; i < messages_.size(); ++i) {
        std::size_t length = messages_[i].end - from;
        if (messages_[i].owner == owner) {
            ++taken;
            if (messages_[i].reply) reply_bytes_ -= length;
        } else if (taken == 0) {
            to += length;
            ++kept;
        } else {
            std::memmove(bytes_.data() + to, bytes_.data() + from, length);
            to += length;
            queued m = std::move(messages_[i]);
            from = m.end;
            m.end = to;
            messages_[kept++] = std::move(m);
            continue;
        }
        from = messages_[i].end;
    }
    if (taken == 0) return 0;
    bytes_.resize(to);
    messages_.resize(kept);
    if (written_ == bytes_.size()) on_written(0);
    return taken;
}

serial output_queue::owner_of_response(const request_id& id) const noexcept {
    // From the back: if the peer reused the id too early, it means the newer request.
    for (std::size_t i = messages_.size(), first = first_unsent(); i > first; --i) {
        if (messages_[i - 1].answered_id == id) return messages_[i - 1].owner;
    }
    return 0;
}

void output_queue::clear() noexcept {
    std::string().swap(bytes_);
    std::vector<queued>().swap(messages_);
    written_ = done_ = reply_bytes_ = 0;
}

}  // namespace keel::rpc
