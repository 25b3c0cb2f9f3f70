#pragma once

// An event loop that the program runs itself, piece by piece: a game calls poll() in every frame; a program with another event loop
// (Qt, GLib, libuv) watches descriptor() there and calls poll() when it is readable.
//
//     keel::event_loop loop;
//     auto listener = keel::listen_unix(*loop.get(), "/run/game.sock",
//                                       [&](auto wire) { server.serve(loop.get(), std::move(wire)); });
//     while (playing) {
//         loop.poll();  // handlers with {.quick = true} and coroutines run here
//         draw_frame();
//     }

#include <keel/loop.hpp>

#include <memory>

namespace keel::inline KEEL_ABI::async {
class epoll_loop;  // src/async/epoll_loop.hpp
}

namespace keel::inline KEEL_ABI {

/// Belongs to the thread that created it: all functions except stop, and everything that must be called on the loop, must be called
/// on that thread. (loop::post may be called on any thread.)
class KEEL_API event_loop {
public:
    /// Throws std::system_error if the process has too few descriptors.
    event_loop();
    /// Ends the loop: posted work and timers are destroyed without running, and connections on it do nothing any more. Stop servers
    /// and clients that use it first.
    ~event_loop();
    event_loop(const event_loop&) = delete;
    event_loop& operator=(const event_loop&) = delete;

    /// The loop for server::serve, http_server::start, listen_unix and so on.
    const std::shared_ptr<loop>& get() const noexcept { return loop_; }

    /// Runs what is ready: input and output of connections, due timers, posted work. Work that is posted meanwhile runs in the next
    /// call. If nothing is ready, waits at most `wait` for something. Returns false if there was nothing to do. Exceptions of
    /// posted work are thrown here; the next call continues with the work after it. Throws std::logic_error if it is called on
    /// another thread, or by work that the loop is running.
    bool poll(duration wait = {});
    /// Polls until stop() is called.
    void run();
    /// Makes run() return. If the loop is not running, the next run() returns at once. Safe to call from any thread.
    void stop() noexcept;

    /// A descriptor that is readable while poll() has something to do, due timers included. Do not read or close it. Throws
    /// std::system_error if the process has too few descriptors.
    int descriptor();
    /// When the next timer is due; time_point::max() if there is none. Only for programs that do not use descriptor().
    time_point next_timer() const noexcept;

private:
    void enter(const char* what);

    std::shared_ptr<async::epoll_loop> own_;
    std::shared_ptr<loop> loop_;  // the same object
    bool polling_ = false;
};

}  // namespace keel
