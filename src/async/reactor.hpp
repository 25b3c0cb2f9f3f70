#pragma once

// What a loop offers to transports beside turns and timers: the readiness of descriptors.

#include <keel/loop.hpp>

#include <memory>
#include <stdexcept>
#include <vector>

namespace keel::inline KEEL_ABI {

/// A loop that watches descriptors. There are two: epoll_loop for threads of our own, asio_loop on a caller's io_context.
/// Owned by shared_ptr: threads that post to it end at times of their own. Everything but post and here on the loop.
class reactor : public loop, public std::enable_shared_from_this<reactor> {
public:
    static constexpr unsigned readable = 1;
    static constexpr unsigned writable = 2;
    static constexpr unsigned broken = 4;  // error or hang-up; told without being asked for

    class watcher {
    public:
        /// A subset of readable | writable | broken. May end its own watch and any other.
        virtual void on_ready(unsigned events) = 0;

    protected:
        ~watcher() = default;
    };

    /// While it lives, the watcher hears about the descriptor. The descriptor must stay open as long.
    class watch {
    public:
        watch() = default;
        watch(const watch&) = delete;
        watch& operator=(const watch&) = delete;
        virtual ~watch() = default;
        /// What to tell from now on: readable and writable are told again and again while they last. `broken` is
        /// told at least once.
        virtual void want(unsigned events) = 0;
    };

    /// Null when the descriptor cannot be waited for: regular files and some devices, which are always ready.
    /// May make the descriptor non-blocking. Throws std::system_error. Wants nothing at first.
    virtual std::unique_ptr<watch> watch_descriptor(int fd, watcher&) = 0;

    /// The last thing that happens: queued work and timers are dropped, watches fall silent, post says no. On the loop,
    /// or when nobody runs it. Idempotent.
    virtual void end() noexcept = 0;

    reactor* as_reactor() noexcept final { return this; }

    /// Room for one read, shared by everything on this loop: what is in it is gone at the next turn.
    std::vector<char>& read_buffer() {
        if (read_buffer_.empty()) read_buffer_.resize(64 * 1024);
        return read_buffer_;
    }

private:
    std::vector<char> read_buffer_;
};

/// The reactor behind a loop. Throws std::invalid_argument for a loop that is none of the library's own.
inline reactor& reactor_of(loop& l) {
    if (reactor* found = l.as_reactor()) return *found;
    throw std::invalid_argument(
        "keel: this loop cannot watch descriptors; use one made by the library, as keel::loop_on does");
}

}  // namespace keel
