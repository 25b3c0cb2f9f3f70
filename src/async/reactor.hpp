#pragma once

// The interface of event loops for transports: they also watch file descriptors.

#include "async/spare_buffers.hpp"

#include <keel/loop.hpp>
#include <keel/task.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>

namespace keel::inline KEEL_ABI::async {

/// A loop that watches file descriptors. There are two: epoll_loop for the library's own threads, asio_loop on a user's
/// io_context. Owned by shared_ptr, because other threads post to it and may end later. All functions except post and here must
/// be called on the loop.
class reactor : public loop, public std::enable_shared_from_this<reactor> {
public:
    static constexpr unsigned readable = 1;
    static constexpr unsigned writable = 2;
    static constexpr unsigned broken = 4;  // error or hang-up; always reported

    class watcher {
    public:
        /// `events` is a subset of readable | writable | broken. The function may destroy its own watch and any other.
        virtual void on_ready(unsigned events) = 0;

    protected:
        ~watcher() = default;
    };

    /// Reports the readiness of a descriptor to its watcher until destroyed. The descriptor must stay open that long.
    class watch {
    public:
        watch() = default;
        watch(const watch&) = delete;
        watch& operator=(const watch&) = delete;
        virtual ~watch() = default;
        /// Sets the events to report. `readable` and `writable` are level-triggered: reported again while they last. `broken` is
        /// reported at least once.
        virtual void want(unsigned events) = 0;
    };

    /// Starts to watch a descriptor, with no events wanted. Returns null for descriptors that are always ready (regular files and
    /// some devices). May make the descriptor non-blocking. Throws std::system_error.
    virtual std::unique_ptr<watch> watch_descriptor(int fd, watcher&) = 0;

    /// Ends the loop: drops queued work and timers, stops all watches; post returns false from now on. Must be called on the loop
    /// or while no thread runs it. Idempotent.
    virtual void end() noexcept = 0;

    reactor* as_reactor() noexcept final { return this; }

    /// Threads for on_worker in tasks that have no executor; started when first used, dropped when the loop ends.
    detail::work_executor& workers();

    /// A buffer for one read, shared by all connections on this loop. Its content is valid until the callback returns.
    std::span<char> read_buffer() {
        // Not initialized: the pages that no message reaches use no memory.
        if (!read_buffer_) read_buffer_ = std::make_unique_for_overwrite<char[]>(read_buffer_size);
        return {read_buffer_.get(), read_buffer_size};
    }

    /// Large buffers for the connections of this loop.
    spare_buffers& spares() noexcept { return spares_; }

protected:
    /// Must be called by `end`, as its last step: waiting tasks whose function has not started are resumed here.
    void drop_workers() noexcept { workers_.reset(); }

private:
    std::shared_ptr<detail::work_executor> workers_;
    static constexpr std::size_t read_buffer_size = 256 * 1024;
    std::unique_ptr<char[]> read_buffer_;
    spare_buffers spares_{*this};
};

/// The spare buffers of a loop; null for loops that are not made by the library.
inline spare_buffers* spares_of(loop& l) noexcept {
    reactor* found = l.as_reactor();
    return found ? &found->spares() : nullptr;
}

/// Returns the loop as a reactor. Throws std::invalid_argument if the loop was not made by the library.
inline reactor& reactor_of(loop& l) {
    if (reactor* found = l.as_reactor()) return *found;
    throw std::invalid_argument(
        "keel: this loop cannot watch descriptors; use one made by the library, as keel::loop_on does");
}

}  // namespace keel::async
