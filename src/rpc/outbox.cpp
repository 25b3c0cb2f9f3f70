#include "rpc/outbox.hpp"

#include <cstring>

namespace keel::inline KEEL_ABI::rpc {

namespace {
// Kept from one burst to the next; a larger buffer is given back once it has been written.
constexpr std::size_t kept_capacity = 256 * 1024;
// A stalled reader is given this much at once, half as much again as it may make us keep by default. Memory that is not
// written costs nothing; growing step by step leaves a hole behind for each step.
constexpr std::size_t stalled_capacity = 12 * 1024 * 1024;
}  // namespace

std::uint64_t outbox::end(const frame& about) {
    bytes_ += '\n';
    queued& f = frames_.emplace_back();
    f.end = bytes_.size();
    f.owner = about.owner;
    f.number = next_number_;
    if (about.answers) f.answers = *about.answers;
    f.reply = about.what != frame::kind::question && about.what != frame::kind::news;
    if (f.reply) replies_ += length_of(frames_.size() - 1);
    return next_number_++;
}

std::uint64_t outbox::first_to_withdraw() const noexcept {
    std::size_t first = first_unstarted();
    return first < frames_.size() ? frames_[first].number : next_number_;
}

void outbox::wrote(std::size_t n) {
    written_ += n;
    if (written_ == bytes_.size()) {
        if (bytes_.capacity() > kept_capacity) {
            clear();
        } else {
            bytes_.clear();
            frames_.clear();
            written_ = done_ = replies_ = 0;
        }
        return;
    }
    for (; done_ < frames_.size() && frames_[done_].end <= written_; ++done_) {
        if (frames_[done_].reply) replies_ -= length_of(done_);
    }
    if (written_ > kept_capacity && written_ > bytes_.size() / 2) compact();
}

// Growing would keep and copy what has been written already: its room is used again first.
void outbox::make_room() {
    if (done_ > 0 && written_ >= bytes_.size() / 4) compact();
    else if (bytes_.size() >= kept_capacity && bytes_.capacity() < stalled_capacity) bytes_.reserve(stalled_capacity);
}

void outbox::compact() noexcept {
    // Keep what is left of the frame that is being written: withdraw looks at where it began.
    std::size_t from = done_ == 0 ? 0 : frames_[done_ - 1].end;
    bytes_.erase(0, from);
    frames_.erase(frames_.begin(), frames_.begin() + static_cast<std::ptrdiff_t>(done_));
    for (queued& f : frames_) f.end -= from;
    written_ -= from;
    done_ = 0;
}

std::size_t outbox::first_unstarted() const noexcept {
    if (done_ == frames_.size()) return done_;
    std::size_t begin = done_ == 0 ? 0 : frames_[done_ - 1].end;
    return written_ > begin ? done_ + 1 : done_;
}

std::size_t outbox::withdraw(serial owner) {
    std::size_t first = first_unstarted();
    std::size_t taken = 0;
    std::size_t to = first == 0 ? 0 : frames_[first - 1].end;
    std::size_t kept = first;
    std::size_t from = to;
    for (std::size_t i = first; i < frames_.size(); ++i) {
        std::size_t length = frames_[i].end - from;
        if (frames_[i].owner == owner) {
            ++taken;
            if (frames_[i].reply) replies_ -= length;
        } else if (taken == 0) {
            to += length;
            ++kept;
        } else {
            std::memmove(bytes_.data() + to, bytes_.data() + from, length);
            to += length;
            queued f = std::move(frames_[i]);
            from = f.end;
            f.end = to;
            frames_[kept++] = std::move(f);
            continue;
        }
        from = frames_[i].end;
    }
    if (taken == 0) return 0;
    bytes_.resize(to);
    frames_.resize(kept);
    if (written_ == bytes_.size()) wrote(0);
    return taken;
}

serial outbox::owner_of_answer(const request_id& id) const noexcept {
    // From the back: if a peer has used the id again too early, it means the newer request.
    for (std::size_t i = frames_.size(), first = first_unstarted(); i > first; --i) {
        if (frames_[i - 1].answers == id) return frames_[i - 1].owner;
    }
    return 0;
}

void outbox::clear() noexcept {
    std::string().swap(bytes_);
    std::vector<queued>().swap(frames_);
    written_ = done_ = replies_ = 0;
}

}  // namespace keel::rpc
