#pragma once

// Large buffers that are kept for the next large message, for a short time.

#include <keel/loop.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::async {

/// Without this, each large message would get its memory from the system and return it: page faults cost more than copying the bytes.
/// One object for all connections of a loop, so that a buffer that received a message can hold its answer. Buffers that were not used
/// for `keep_time` are freed. Use it on its loop only.
class spare_buffers {
public:
    /// Smaller buffers are not worth keeping here: their owners keep them.
    static constexpr std::size_t smallest = 64 * 1024;
    static constexpr std::size_t max_buffers = 4;
    static constexpr std::size_t default_limit = 32 * 1024 * 1024;  // bytes
    static constexpr duration keep_time = std::chrono::seconds(1);

    explicit spare_buffers(loop& l) : loop_(l) { kept_.reserve(max_buffers); }
    spare_buffers(const spare_buffers&) = delete;
    spare_buffers& operator=(const spare_buffers&) = delete;

    /// The largest kept buffer, or an empty string if there is none with this capacity. Its content is arbitrary: a caller that
    /// overwrites it need not initialize it again.
    std::string take(std::size_t capacity) noexcept {
        auto largest = std::max_element(kept_.begin(), kept_.end(), smaller);
        if (largest == kept_.end() || largest->capacity() < capacity) return {};
        std::string taken = std::move(*largest);
        std::swap(*largest, kept_.back());
        kept_.pop_back();
        bytes_ -= taken.capacity();
        used_ = true;
        return taken;
    }

    /// Keeps the buffer, or frees it (or smaller ones) if that would exceed a limit.
    void put(std::string buffer) {
        if (buffer.capacity() < smallest || buffer.capacity() > limit_) return;
        while (kept_.size() == max_buffers || bytes_ + buffer.capacity() > limit_) {
            auto least = std::min_element(kept_.begin(), kept_.end(), smaller);
            if (least->capacity() >= buffer.capacity()) return;
            bytes_ -= least->capacity();
            kept_.erase(least);
        }
        bytes_ += buffer.capacity();
        kept_.push_back(std::move(buffer));
        used_ = true;
        if (!timer_set_) set_timer();
    }

    bool empty() const noexcept { return kept_.empty(); }
    std::size_t bytes() const noexcept { return bytes_; }
    /// At most this many bytes are kept.
    void limit(std::size_t bytes) noexcept {
        limit_ = std::min(bytes, default_limit);
        if (bytes_ > limit_) clear();
    }
    void clear() noexcept {
        kept_.clear();
        bytes_ = 0;
    }

private:
    static bool smaller(const std::string& a, const std::string& b) noexcept { return a.capacity() < b.capacity(); }

    // Not moved by each message: a timer that finds the buffers used since the last time lets them be for another interval.
    void set_timer() {
        timer_set_ = loop_.start_timer(after(loop_.now(), keep_time), [this, alive = std::weak_ptr(alive_)] {
            if (!alive.expired()) on_timer();
        }) != 0;
    }
    void on_timer() {
        timer_set_ = false;
        if (!std::exchange(used_, false)) clear();
        if (!kept_.empty()) set_timer();
    }

    loop& loop_;
    std::vector<std::string> kept_;
    std::size_t bytes_ = 0;
    std::size_t limit_ = default_limit;
    bool used_ = false;  // since the last timer
    bool timer_set_ = false;
    std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);  // held weakly by the timer
};

/// Replaces `buffer` by one with room for `capacity` bytes, a spare one if possible, and copies its first `used` bytes. The content
/// behind them is arbitrary, and so is size(), which is at least `used`. The old buffer is freed: it was too small.
inline void enlarge(std::string& buffer, std::size_t used, std::size_t capacity, spare_buffers* spares) {
    std::string larger = spares ? spares->take(capacity) : std::string();
    if (larger.capacity() < capacity) larger.reserve(capacity);
    if (larger.size() < used) larger.assign(buffer, 0, used);
    else std::copy_n(buffer.data(), used, larger.data());
    buffer = std::move(larger);
}

/// Frees `buffer`, or keeps it as a spare one.
inline void give_back(std::string& buffer, spare_buffers* spares) {
    std::string old = std::exchange(buffer, {});
    if (spares) spares->put(std::move(old));
}

}  // namespace keel::async
