#pragma once

// A server at work: its sessions, the endpoints it listens on, and the thread that serves them in the background.

#include "async/epoll_loop.hpp"
#include "server/server_core.hpp"
#include "server/server_session.hpp"

#include <keel/server.hpp>
#include <keel/transport.hpp>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace keel::inline KEEL_ABI {

/// Something that serves clients in a way of its own, HTTP for instance, and is to be stopped with the server.
class server_transport {
public:
    server_transport() = default;
    server_transport(const server_transport&) = delete;
    server_transport& operator=(const server_transport&) = delete;
    virtual ~server_transport() = default;
    /// Begins to stop, after the server's sessions have been told. `transport_ended` follows. Any thread.
    virtual void stop(duration drain) = 0;
};

/// Threads: add, stop and wait come from any thread and meet the loops in `mutex`. Nothing is called while it is held.
struct server::impl : std::enable_shared_from_this<server::impl> {
    impl(implementation about, server_options options);
    ~impl();

    /// Serves one connection on a loop. Any thread.
    void serve(std::shared_ptr<keel::loop> on, std::unique_ptr<connection> wire, const limits& bounds,
               std::function<void(const connection_end&)> ended, std::string principal = {});
    /// A session without a wire, known to the server until it has ended; the caller starts it, on its loop. None while the
    /// server is stopping. `ended` is called on that loop.
    std::shared_ptr<server_side::server_session> attach(std::shared_ptr<keel::loop> on,
                                                        std::function<void(const connection_end&)> ended);
    /// False: the server is stopping.
    bool add_transport(std::shared_ptr<server_transport> s);
    void transport_ended(const server_transport* s);

    /// Opens an endpoint on a loop, whose thread calls this. Throws when the address cannot be used.
    /// `stdio_ended` is called when the client on standard input and output is gone.
    void open(const std::shared_ptr<async::epoll_loop>& on, const endpoint& where, limits bounds, bool drain_is_given,
              std::function<void()> stdio_ended = {});

    /// `keep` is held until each session has ended.
    void request_stop(duration drain, std::shared_ptr<void> keep = {});
    connection_end wait();
    void end_background();
    /// Ends the worker threads. The number that did not end in time.
    std::size_t end_workers();
    void tell_list_changed(list_kind which);
    /// Runs the start hooks, if they have not run. Throws what they throw.
    void begin();
    /// The same, and a server that was stopped serves again.
    void begin_serving();
    /// Throws std::logic_error once serving has begun.
    void refuse_while_serving(const char* what);
    /// Runs the stop hooks and lets go of what the start hooks made, if anything is to be let go.
    void finish();
    /// Not while sessions on loops of the caller's go on: the last of them then does it.
    void finish_if_idle();
    /// Throws std::logic_error in a hook, where it would wait for itself.
    void refuse_in_hook(const char* what) const;
    bool in_handler() const;
    bool on_background() const;
    void refuse_in_handler(const char* what) const;
    /// Until no session is left on the thread of our own.
    void wait_for_background();
    static void tell(const server_side::server_core& core, const std::function<void(const connection_end&)>& ended,
                     const connection_end& end);

    std::shared_ptr<server_side::server_core> core;

    struct served {
        std::shared_ptr<server_side::server_session> session;
        std::shared_ptr<keel::loop> loop;
        bool own_streams = false;
        /// One message to the loop serves for all changes until it is seen: a bit for each kind of list.
        std::shared_ptr<std::atomic<unsigned>> changes = std::make_shared<std::atomic<unsigned>>(0);
    };

    struct listening {
        std::shared_ptr<listener> at;
        std::shared_ptr<keel::loop> loop;
    };

    mutable std::mutex mutex;
    std::condition_variable changed;
    std::map<std::uint64_t, served> sessions;
    std::uint64_t next_session = 1;
    std::size_t wired = 0;  // sessions with a connection of their own
    std::vector<listening> listeners;
    std::vector<std::shared_ptr<server_transport>> transports;
    std::string address;
    bool stopping = false;
    connection_end last;
    std::function<void()> when_idle;  // foreground serving: nothing is left to serve

    std::mutex hook_mutex;  // begin and finish, one at a time; never held together with `mutex`
    bool begun = false;
    std::uint64_t abandoned_before = 0;   // when it began
    std::atomic<bool> lost_some = false;  // sessions whose loop ended before them: what their handlers do is not known
    std::atomic<std::thread::id> hook_thread{};  // while hooks run: theirs
    std::vector<std::function<detail::started_state()>> start_hooks;
    std::vector<std::function<void()>> stop_hooks;

    std::shared_ptr<async::epoll_loop> background;
    std::thread background_thread;

private:
    bool idle() const noexcept { return sessions.empty() && listeners.empty() && transports.empty(); }
    std::shared_ptr<server_side::server_session> make_session(std::shared_ptr<keel::loop> on,
                                                              std::function<void(const connection_end&)> ended,
                                                              std::string principal, bool own_streams,
                                                              std::uint64_t& key);
    void session_ended(std::uint64_t key, const connection_end& end);
    void check_idle();
};

/// For those parts of the library that serve in their own way.
struct server_access {
    using impl = server::impl;
    static const std::shared_ptr<impl>& of(server& s) noexcept { return s.impl_; }
};

}  // namespace keel
