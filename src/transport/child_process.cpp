#include <keel/child_process.hpp>

#include "async/reactor.hpp"
#include "transport/descriptor.hpp"
#include "transport/fd_connection.hpp"

#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <vector>

extern char** environ;

namespace keel::inline KEEL_ABI {

namespace {

using async::reactor;
using async::reactor_of;

using transport::descriptor;
using transport::duplicate;
using transport::throw_errno;

constexpr std::size_t kept_stderr = 8 * 1024;

struct pipe_ends {
    descriptor read;
    descriptor write;
};

// Never 0, 1 or 2, because the child replaces these; created with O_CLOEXEC, so that no other child inherits them
// (G10).
pipe_ends make_pipe() {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) throw_errno("cannot create a pipe");
    descriptor read(fds[0]), write(fds[1]);
    return {duplicate(read.get()), duplicate(write.get())};
}

// The variables of the official SDKs (HOME to USER), language and time zone, and places for files. None of them usually contains
// a secret.
constexpr std::array<std::string_view, 15> safe_variables = {"HOME",
                                                             "LOGNAME",
                                                             "PATH",
                                                             "SHELL",
                                                             "TERM",
                                                             "USER",
                                                             "LANG",
                                                             "LANGUAGE",
                                                             "TZ",
                                                             "TMPDIR",
                                                             "XDG_CACHE_HOME",
                                                             "XDG_CONFIG_HOME",
                                                             "XDG_DATA_HOME",
                                                             "XDG_RUNTIME_DIR",
                                                             "XDG_STATE_HOME"};

bool is_safe(std::string_view name, std::string_view value) {
    if (value.starts_with("()")) return false;  // a function that an old bash exported
    return name.starts_with("LC_") ||
           std::find(safe_variables.begin(), safe_variables.end(), name) != safe_variables.end();
}

std::vector<std::string> environment_of(const child_process& what) {
    std::vector<std::string> all;
    for (char** entry = environ; *entry; ++entry) {
        std::string_view text = *entry;
        std::string_view name = text.substr(0, text.find('='));
        std::string_view value = text.substr(std::min(text.size(), name.size() + 1));
        bool omitted = !what.inherit_environment && !is_safe(name, value);
        for (const auto& own : what.environment) omitted = omitted || own.first == name;
        if (!omitted) all.emplace_back(text);
    }
    for (const auto& [key, value] : what.environment) all.emplace_back(key).append("=").append(value);
    return all;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> all;
    for (std::string& w : words) all.push_back(w.data());
    all.push_back(nullptr);
    return all;
}

struct spawn_settings {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    spawn_settings() {
        posix_spawn_file_actions_init(&files);
        posix_spawnattr_init(&attributes);
    }
    spawn_settings(const spawn_settings&) = delete;
    spawn_settings& operator=(const spawn_settings&) = delete;
    ~spawn_settings() {
        posix_spawn_file_actions_destroy(&files);
        posix_spawnattr_destroy(&attributes);
    }
};

pid_t spawn(const child_process& what, int in, int out, int err) {
    spawn_settings s;
    posix_spawn_file_actions_adddup2(&s.files, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&s.files, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&s.files, err, STDERR_FILENO);
    // Our descriptors have O_CLOEXEC; those that the program itself has left open may not.
    posix_spawn_file_actions_addclosefrom_np(&s.files, STDERR_FILENO + 1);
    if (!what.directory.empty()) posix_spawn_file_actions_addchdir_np(&s.files, what.directory.c_str());
    // Its own process group, so that processes it starts can be terminated with it; default signal dispositions and
    // mask.
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    for (int number : {SIGPIPE, SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&usual, number);
    posix_spawnattr_setpgroup(&s.attributes, 0);
    posix_spawnattr_setsigmask(&s.attributes, &none);
    posix_spawnattr_setsigdefault(&s.attributes, &usual);
    posix_spawnattr_setflags(&s.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

    std::vector<std::string> words{what.command};
    words.insert(words.end(), what.arguments.begin(), what.arguments.end());
    std::vector<std::string> environment = environment_of(what);
    pid_t pid = 0;
    int problem = ::posix_spawnp(&pid, what.command.c_str(), &s.files, &s.attributes, pointers(words).data(),
                                 pointers(environment).data());
    if (problem != 0) throw std::system_error(problem, std::generic_category(), "cannot start " + what.command);
    return pid;
}

/// Watches a child until it has been reaped. Owns itself until then, because the connection may be destroyed long
/// before.
class keeper final : public std::enable_shared_from_this<keeper> {
public:
    keeper(reactor& on, pid_t pid, descriptor process, descriptor output, descriptor errors, child_options options)
        : reactor_(on.shared_from_this()), pid_(pid), options_(std::move(options)),
          process_(*this, &keeper::on_process, std::move(process)),
          output_(*this, &keeper::on_output, std::move(output)), errors_(*this, &keeper::on_errors, std::move(errors)) {
    }

    void watch() {
        self_ = shared_from_this();
        process_.begin(*reactor_);
        errors_.begin(*reactor_);
    }

    /// Nothing can watch the child any more: kills and reaps it synchronously.
    void kill_and_reap() noexcept {
        if (std::exchange(ended_, true)) return;
        ::kill(-pid_, SIGKILL);
        siginfo_t info{};
        while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0 && errno == EINTR) {
        }
        process_.end();
        output_.end();
        errors_.end();
        auto keep = std::exchange(self_, nullptr);
    }

    // Its input was closed with the connection (G6). Keep reading its output, so that it does not block before it
    // exits.
    void wire_closed() {
        if (ended_) return;
        if (!reactor_->post([] {})) return kill_and_reap();
        output_.begin(*reactor_);
        next_step(options_.limits.child_exit, [this] {
            signal_group(SIGTERM);
            next_step(options_.limits.child_term, [this] {
                signal_group(SIGKILL);
                next_step(options_.limits.child_reap, [this] { finish({child_end::kind::remains, 0, {}}); });
            });
        });
    }

private:
    struct watched final : reactor::watcher {
        using handler = void (keeper::*)();
        watched(keeper& k, handler h, descriptor d) noexcept : owner(k), act(h), fd(std::move(d)) {}
        void begin(reactor& on) {
            watch = on.watch_descriptor(fd.get(), *this);
            if (!watch) return;
            ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
            watch->want(reactor::readable);
        }
        void end() noexcept {
            watch.reset();
            fd.reset();
        }
        void on_ready(unsigned) override {
            auto keep = owner.shared_from_this();
            (owner.*act)();
        }
        keeper& owner;
        handler act;
        descriptor fd;
        std::unique_ptr<reactor::watch> watch;
    };

    // Until the child is reaped, its process id cannot belong to another process (G7).
    void signal_group(int number) noexcept {
        if (!ended_) ::kill(-pid_, number);
    }

    // If the loop is destroyed with its timers, this destructor is the only one left to kill the child.
    struct last_resort {
        explicit last_resort(std::shared_ptr<keeper> k) noexcept : kept(std::move(k)) {}
        last_resort(const last_resort&) = delete;
        last_resort& operator=(const last_resort&) = delete;
        ~last_resort() {
            if (!done && !kept->ended_) kept->kill_and_reap();
        }
        std::shared_ptr<keeper> kept;
        bool done = false;
    };

    template <class Step>
    void next_step(duration patience, Step step) {
        auto guard = std::make_shared<last_resort>(shared_from_this());
        timer_ = start_timer_after(*reactor_, patience, [guard, step = std::move(step)] {
            guard->done = true;
            step();
        });
        if (timer_ == 0) guard->done = true;  // no timeout
    }

    void on_process() {
        siginfo_t info{};
        int problem = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG);
        if (problem != 0) return finish({child_end::kind::unknown, 0, {}});
        if (info.si_pid == 0) return;  // still running
        bool exited = info.si_code == CLD_EXITED;
        finish({exited ? child_end::kind::exited : child_end::kind::signalled, info.si_status, {}});
    }

    void on_output() { (void)take(output_); }  // the output is discarded

    void on_errors() {
        std::string_view said = take(errors_);
        if (said.empty()) return;
        tail_ += said;
        if (tail_.size() > 2 * kept_stderr) tail_.erase(0, tail_.size() - kept_stderr);
        if (options_.on_stderr) options_.on_stderr(said);
    }

    std::string_view take(watched& from) {
        std::span<char> room = reactor_->read_buffer();
        ssize_t n = ::read(from.fd.get(), room.data(), room.size());
        if (n > 0) return {room.data(), static_cast<std::size_t>(n)};
        if (n == 0 || (errno != EAGAIN && errno != EINTR)) from.end();
        return {};
    }

    void finish(child_end end) {
        if (std::exchange(ended_, true)) return;
        reactor_->stop_timer(timer_);
        for (int turns = 0; errors_.fd && turns < 64; ++turns) {  // the last lines may still be in the pipe
            std::size_t before = tail_.size();
            on_errors();
            if (tail_.size() == before) break;
        }
        if (tail_.size() > kept_stderr) tail_.erase(0, tail_.size() - kept_stderr);
        end.stderr_tail = tail_;
        process_.end();
        output_.end();
        errors_.end();
        auto keep = std::exchange(self_, nullptr);
        if (auto tell = std::exchange(options_.on_end, nullptr)) tell(end);
    }

    std::shared_ptr<reactor> reactor_;
    pid_t pid_;
    child_options options_;
    watched process_;
    watched output_;
    watched errors_;
    loop::timer timer_ = 0;
    std::string tail_;
    bool ended_ = false;
    std::shared_ptr<keeper> self_;  // until the child has been reaped
};

}  // namespace

std::string child_end::text() const {
    switch (how) {
        case kind::exited: return "exited with status " + std::to_string(number);
        case kind::signalled: return "was terminated by signal " + std::to_string(number);
        case kind::unknown: return "ended";
        case kind::remains: return "could not be terminated";
    }
    return "ended";
}

started_child start_child(loop& l, const child_process& what, child_options options) {
    reactor& on = reactor_of(l);
    pipe_ends in = make_pipe();
    pipe_ends out = make_pipe();
    pipe_ends err = make_pipe();
    descriptor drained = duplicate(out.read.get());
    pid_t pid = spawn(what, in.read.get(), out.write.get(), err.write.get());
    std::shared_ptr<keeper> kept;
    try {
        // Safe to look up by process id: only we can reap the child, so the id still belongs to it.
        descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
        if (!process) throw_errno("cannot open a pidfd of " + what.command);
        ::fcntl(process.get(), F_SETFD, FD_CLOEXEC);
        kept = std::make_shared<keeper>(on, pid, std::move(process), std::move(drained), std::move(err.read),
                                        std::move(options));
        kept->watch();
        auto wire = std::make_unique<transport::fd_connection>(
            on, std::move(out.read), std::move(in.write), "child " + what.command, [kept] { kept->wire_closed(); });
        return {std::move(wire), pid};
    } catch (...) {  // on any exception, do not leave the child behind
        if (kept) {
            kept->kill_and_reap();
        } else {
            ::kill(-pid, SIGKILL);
            ::waitpid(pid, nullptr, 0);
        }
        throw;
    }
}

}  // namespace keel
