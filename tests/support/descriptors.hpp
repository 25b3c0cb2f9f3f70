#pragma once

// Real descriptors and real processes for tests of transports.

#include "transport/descriptor.hpp"

#include <keel/connection.hpp>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace keel::test {

using transport::descriptor;

struct two_ends {
    descriptor ours;
    descriptor theirs;
};

/// Bytes flow from `from` to `to`.
struct one_way {
    descriptor from;
    descriptor to;
};

inline one_way make_pipe() {
    int fds[2];
    REQUIRE(::pipe2(fds, O_CLOEXEC) == 0);
    return {descriptor(fds[1]), descriptor(fds[0])};
}

inline two_ends make_socket_pair() {
    int fds[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    return {descriptor(fds[0]), descriptor(fds[1])};
}

inline void write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        ssize_t n = ::write(fd, bytes.data(), bytes.size());
        REQUIRE(n > 0);
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
}

/// Reads until end-of-file or the hangup of a terminal.
inline std::string read_all(int fd) {
    std::string all;
    char room[4096];
    for (ssize_t n; (n = ::read(fd, room, sizeof room)) > 0;) all.append(room, static_cast<std::size_t>(n));
    return all;
}

/// Reads exactly `count` bytes, or fewer at end-of-file.
inline std::string read_exactly(int fd, std::size_t count) {
    std::string all(count, '\0');
    std::size_t have = 0;
    while (have < count) {
        ssize_t n = ::read(fd, all.data() + have, count - have);
        if (n <= 0) break;
        have += static_cast<std::size_t>(n);
    }
    all.resize(have);
    return all;
}

/// Records all callbacks of a connection.
class recorder final : public connection::listener {
public:
    std::string input;
    std::size_t reads = 0;
    bool ended = false;
    std::string failure;
    std::size_t failures = 0;
    std::size_t writables = 0;
    std::function<void()> when_input, when_ended, when_failed, when_writable;

    void on_input(std::string_view bytes) override {
        input += bytes;
        ++reads;
        if (when_input) when_input();
    }
    void on_input_end() override {
        CHECK(!std::exchange(ended, true));
        if (when_ended) when_ended();
    }
    void on_failure(std::string_view cause) override {
        failure = cause;
        ++failures;
        if (when_failed) when_failed();
    }
    void on_writable() override {
        ++writables;
        if (when_writable) when_writable();
    }
    ~recorder() = default;
};

/// A forked copy of the test that runs `body` and exits with its return value. doctest checks must not be used inside.
class forked_process {
public:
    explicit forked_process(const std::function<int()>& body) : id_(fork_with_empty_buffers()) {
        REQUIRE(id_ >= 0);
        if (id_ == 0) ::_exit(body());
    }
    forked_process(const forked_process&) = delete;
    forked_process& operator=(const forked_process&) = delete;
    ~forked_process() {
        if (id_ > 0) wait();
    }
    /// The exit status, or 1000 plus the signal that ended it.
    int wait() {
        int status = 0;
        REQUIRE(::waitpid(std::exchange(id_, 0), &status, 0) > 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    }
    pid_t id() const noexcept { return id_; }

private:
    // Otherwise the child would print the buffered output of the test again.
    static pid_t fork_with_empty_buffers() {
        std::fflush(nullptr);
        return ::fork();
    }
    pid_t id_;
};

/// A folder that is removed at the end of the test.
class scratch_folder {
public:
    scratch_folder() {
        std::string name = "/tmp/keel-test-XXXXXX";
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    ~scratch_folder() { [[maybe_unused]] int done = std::system(("rm -rf " + path_).c_str()); }
    std::string file(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

}  // namespace keel::test
