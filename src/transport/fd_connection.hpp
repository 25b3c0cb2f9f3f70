#pragma once

// A connection over file descriptors of any kind: pipes, sockets, terminals, files, devices.

#include "async/reactor.hpp"
#include "transport/descriptor.hpp"
#include "transport/sigpipe.hpp"

#include <keel/connection.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace keel::inline KEEL_ABI::transport {

/// On the hot path a message costs one wait of the loop, one read and one write. Pipes and terminals are made
/// non-blocking. Sockets keep their mode; each call passes MSG_DONTWAIT. Files and devices that epoll does not support
/// are read in posted turns of the loop.
///
/// May be closed or destroyed inside any call to its listener.
class fd_connection final : public connection {
public:
    /// `closed` is called once, after the descriptors have been closed.
    fd_connection(async::reactor&, descriptor input, descriptor output, std::string name,
                  std::function<void()> closed = {});
    /// One socket for both directions.
    fd_connection(async::reactor&, descriptor socket, std::string name, std::function<void()> closed = {});
    ~fd_connection() override;

    /// Makes the connection fail with `cause` when `pidfd` becomes readable, that is, when the process at the other end has ended
    /// but another process keeps the stream open. If no other process does, the end of input is reported as usual. Call it before
    /// start.
    void end_with_process(descriptor pidfd, std::string cause);

    /// For a TCP socket: expect_more_input acknowledges the input at once.
    void acknowledge_at_once() noexcept { acknowledges_ = true; }

    void start(listener&) override;
    written write(std::string_view bytes) override;
    void pause() noexcept override;
    void resume() override;
    void expect_more_input() noexcept override;
    void end_output() noexcept override;
    void close() noexcept override;
    std::string describe() const override { return name_; }

private:
    struct end final : async::reactor::watcher {
        using handler = void (fd_connection::*)(unsigned);
        end(fd_connection& c, handler h, descriptor d) noexcept;
        void on_ready(unsigned events) override { (owner.*on_event)(events); }
        /// Enlarges a pipe once. Returns false if it has not changed.
        bool grow_pipe() noexcept;

        fd_connection& owner;
        handler on_event;
        descriptor fd;
        bool is_socket = false;
        bool grown = false;
        std::unique_ptr<async::reactor::watch> watch;  // null: not supported by epoll, or no longer watched
    };

    bool duplex() const noexcept { return !output_; }
    end& output() noexcept { return output_ ? *output_ : input_; }
    unsigned input_interest() const noexcept;
    void input_event(unsigned events);
    void output_event(unsigned events);
    void process_event(unsigned events);
    void stop_watching() noexcept;
    void read_some();
    void read_later();
    void became_writable();
    void fail(const std::string& cause);
    std::string cause_of_hang_up() noexcept;

    std::shared_ptr<async::reactor> reactor_;
    end input_;
    std::optional<end> output_;     // empty: input_ is a socket for both directions
    std::unique_ptr<end> process_;  // the pidfd of end_with_process
    std::string process_ended_;
    std::string name_;
    std::function<void()> on_closed_;
    std::optional<sigpipe_guard> sigpipe_;

    listener* listener_ = nullptr;  // null before start and after close
    bool paused_ = false;
    bool input_ended_ = false;
    bool blocked_ = false;  // a write was partial
    bool hung_up_ = false;  // one socket for both directions: reported while there may still be unread input
    bool failed_ = false;
    bool closed_ = false;
    bool acknowledges_ = false;
    bool read_posted_ = false;
    bool* destroyed_ = nullptr;  // set while a call to the listener is on the stack
    std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);  // held weakly by posted turns
};

}  // namespace keel::transport
