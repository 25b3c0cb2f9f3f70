#include "rpc/connection_io.hpp"
#include "support/descriptors.hpp"
#include "support/process_facts.hpp"
#include "support/real_loops.hpp"

#include <keel/child_process.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;

namespace {

/// A child that runs a shell command, and how it ended.
template <class On>
struct shell {
    explicit shell(const std::string& line, duration exit = 1h, duration term = 1h) {
        child_options options;
        options.limits.child_exit = exit;
        options.limits.child_term = term;
        options.limits.child_reap = 1h;
        options.on_end = [this](const child_end& e) { end = e; };
        started = start_child(on.loop(), {.command = "sh", .arguments = {"-c", line}}, options);
        started.wire->start(heard);
    }
    void until_said(std::string_view text) {
        on.until([&] { return heard.input.find(text) != std::string::npos; });
    }
    child_end close() {
        started.wire->close();
        on.until([&] { return end.has_value(); });
        return *end;
    }

    On on;
    recorder heard;
    started_child started;
    std::optional<child_end> end;
};

/// A process that may not be a child of this one. Killed at the end of the test if it still runs.
class observed_process {
public:
    explicit observed_process(pid_t pid) : fd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {
        REQUIRE(fd_ >= 0);
    }
    observed_process(const observed_process&) = delete;
    observed_process& operator=(const observed_process&) = delete;
    ~observed_process() {
        ::syscall(SYS_pidfd_send_signal, fd_, SIGKILL, nullptr, 0);
        ::close(fd_);
    }
    /// Waits for its end; returns false after ten seconds.
    bool ends() const {
        pollfd one{.fd = fd_, .events = POLLIN, .revents = 0};
        return ::poll(&one, 1, 10'000) == 1;
    }

private:
    int fd_;
};

bool has_no_children() { return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD; }

}  // namespace

TEST_CASE_TEMPLATE("G6: a child exits when its input is closed", On, KEEL_TEST_LOOPS) {
    shell<On> c("cat");
    CHECK(c.started.wire->write("hello\n").bytes == 6);
    c.until_said("hello\n");
    child_end end = c.close();
    CHECK(end.text() == "exited with status 0");
    CHECK(has_no_children());
}

TEST_CASE_TEMPLATE("G6: a child that ignores the end of its input gets SIGTERM, and so does its process group", On,
                   KEEL_TEST_LOOPS) {
    shell<On> c("sleep 3600 & echo ready; wait; sleep 3600", 10ms);
    c.until_said("ready\n");
    CHECK(c.close().text() == "was terminated by signal 15");
    CHECK(has_no_children());
}

TEST_CASE("G6: processes that a child has started get the same signals") {
    SUBCASE("SIGTERM") {
        shell<on_epoll> c("sleep 3600 & echo $!; wait", 10ms);
        c.until_said("\n");
        observed_process started(std::stoi(c.heard.input));
        CHECK(c.close().text() == "was terminated by signal 15");
        CHECK(started.ends());
    }
    SUBCASE("SIGKILL") {
        shell<on_epoll> c("trap '' TERM; sleep 3600 & echo $!; while :; do wait; done", 10ms, 10ms);
        c.until_said("\n");
        observed_process started(std::stoi(c.heard.input));
        CHECK(c.close().text() == "was terminated by signal 9");
        CHECK(started.ends());
    }
    SUBCASE("SIGKILL when the loop ends first") {
        std::optional<observed_process> started;
        {
            shell<on_epoll> c("trap '' TERM; sleep 3600 & echo $!; while :; do wait; done");
            c.until_said("\n");
            started.emplace(std::stoi(c.heard.input));
            c.started.wire->close();
        }
        CHECK(started->ends());
    }
    CHECK(has_no_children());
}

TEST_CASE("G6: a child that ignores SIGTERM gets SIGKILL") {
    shell<on_epoll> c("trap '' TERM; echo ready; while :; do sleep 3600; done", 10ms, 10ms);
    c.until_said("ready\n");
    CHECK(c.close().text() == "was terminated by signal 9");
    CHECK(has_no_children());
}

TEST_CASE("G6: the output of a child is read until it exits, so that it cannot block") {
    shell<on_epoll> c("cat >/dev/null; head -c 1048576 /dev/zero; echo all written >&2; exit 7");
    child_end end = c.close();
    CHECK(end.text() == "exited with status 7");
    CHECK(end.stderr_tail == "all written\n");
}

TEST_CASE("G6: the exit of the process counts, not the end of its pipes, which a grandchild may hold open") {
    shell<on_epoll> c("exec 3<&0; sleep 3600 <&3 & echo $!; exit 0");
    c.on.until([&] { return c.end.has_value(); });
    CHECK(c.end->text() == "exited with status 0");
    c.until_said("\n");
    CHECK_FALSE(c.heard.ended);  // its output is still open
    ::kill(std::stoi(c.heard.input), SIGKILL);
    c.on.until([&] { return c.heard.ended || c.heard.failures > 0; });
}

TEST_CASE("G7: a child that has already exited is reported and gets no signal; no zombie is left") {
    shell<on_epoll> c("echo last words >&2; exit 3");
    c.on.until([&] { return c.end.has_value(); });
    CHECK(c.end->text() == "exited with status 3");
    CHECK(c.end->stderr_tail == "last words\n");
    CHECK(has_no_children());
    c.end.reset();
    c.started.wire->close();
    c.on.poll();
    CHECK_FALSE(c.end.has_value());  // reported once
}

TEST_CASE("a child that floods its standard error does not block, and only the tail is kept") {
    shell<on_epoll> c("head -c 10000000 /dev/zero | tr '\\0' x >&2; echo the end >&2; exit 0");
    c.on.until([&] { return c.end.has_value(); });
    CHECK(c.end->stderr_tail.size() <= 8 * 1024);
    CHECK(c.end->stderr_tail.ends_with("the end\n"));
}

namespace {

struct quiet_user final : rpc::peer_user {
    void on_request(rpc::peer& p, rpc::serial id, std::string_view, const json::value*) override { p.finish(id, "{}"); }
    void on_notification(rpc::peer&, std::string_view, const json::value*) override {}
    void on_report(std::string_view) override {}
    void on_closed(std::string_view, std::size_t) override { order += "closed"; }
    std::string order;
};

}  // namespace

TEST_CASE("G8, D1: if a child is killed, every pending call ends once, before the connection is closed") {
    on_epoll on;
    std::optional<child_end> end;
    child_options options;
    options.on_end = [&](const child_end& e) { end = e; };
    started_child c = start_child(on.loop(), {.command = "sh", .arguments = {"-c", "exec cat >/dev/null"}}, options);
    quiet_user user;
    auto p = rpc::make_connection_peer(on.shared, std::move(c.wire), rpc::role::client, limits{}, nullptr, user);
    p->start();
    std::vector<std::unique_ptr<detail::activity>> lines;
    for (int i = 0; i < 10; ++i) {
        lines.push_back(std::make_unique<detail::activity>(on.loop()));
        rpc::peer::call_options_with_progress how;
        detail::start(*lines.back(), rpc::peer::ask(p, nullptr, "ping", {}, how), [&](detail::outcome<json::value> o) {
            try {
                std::rethrow_exception(std::get<0>(o));
            } catch (const keel::error& e) {
                user.order += e.kind() == error_kind::closed ? "." : "?";
            }
        });
    }
    ::kill(c.pid, SIGKILL);
    on.until([&] { return end.has_value() && p->closed(); });
    CHECK(user.order == "..........closed");
    CHECK(end->text() == "was terminated by signal 9");
    CHECK(has_no_children());
}

TEST_CASE("G9: a child that cannot be started gives an error with the reason, and leaks nothing") {
    on_epoll on;
    std::size_t before = open_descriptors();
    auto problem = [&](const keel::child_process& what) {
        try {
            start_child(on.loop(), what);
        } catch (const std::system_error& e) {
            return e.code().value();
        }
        return 0;
    };
    CHECK(problem({.command = "no-such-program-anywhere"}) == ENOENT);
    std::string plain = "/tmp/keel-plain-" + std::to_string(::getpid());
    std::ofstream(plain) << "not a program";
    CHECK(problem({.command = plain}) == EACCES);
    std::filesystem::remove(plain);
    CHECK(problem({.command = "true", .directory = "/no/such/folder"}) == ENOENT);
    rlimit old{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &old) == 0);
    rlimit tight = old;
    tight.rlim_cur = 6;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &tight) == 0);
    int limited = problem({.command = "true"});
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &old) == 0);
    CHECK(limited == EMFILE);
    CHECK(open_descriptors() == before);
    CHECK(has_no_children());
}

TEST_CASE("G10: a child does not keep another child's pipes open") {
    shell<on_epoll> first("cat; echo first is done >&2");
    std::optional<child_end> second_end;
    child_options options;
    options.on_end = [&](const child_end& e) { second_end = e; };
    started_child second = start_child(first.on.loop(), {.command = "cat"}, options);
    CHECK(first.close().stderr_tail == "first is done\n");  // it saw the end of its input
    CHECK_FALSE(second_end.has_value());
    recorder heard;
    second.wire->start(heard);
    second.wire->close();
    first.on.until([&] { return second_end.has_value(); });
}

TEST_CASE("a child gets its environment, working directory and default signals") {
    on_epoll on;
    std::optional<child_end> end;
    child_options options;
    options.on_end = [&](const child_end& e) { end = e; };
    keel::child_process what{.command = "sh",
                             .arguments = {"-c", "pwd; echo \"$KEEL_A $HOME\"; trap; echo .; cat >/dev/null"}};
    what.environment = {{"KEEL_A", "one"}, {"HOME", "/elsewhere"}};
    what.directory = "/";
    started_child c = start_child(on.loop(), what, options);
    recorder heard;
    c.wire->start(heard);
    on.until([&] { return heard.input.ends_with(".\n"); });
    CHECK(heard.input == "/\none /elsewhere\n.\n");
    c.wire->close();
    on.until([&] { return end.has_value(); });
}

namespace {

/// The environment of a child, while these variables are set in this process.
std::string environment_of_child(bool inherit, const std::vector<std::pair<std::string, std::string>>& ours,
                                 std::vector<std::pair<std::string, std::string>> added = {}) {
    for (const auto& [name, value] : ours) ::setenv(name.c_str(), value.c_str(), 1);
    on_epoll on;
    std::optional<child_end> end;
    child_options options;
    options.on_end = [&](const child_end& e) { end = e; };
    keel::child_process what{.command = "env"};
    what.environment = std::move(added);
    what.inherit_environment = inherit;
    started_child c = start_child(on.loop(), what, options);
    recorder heard;
    c.wire->start(heard);
    on.until([&] { return end.has_value() && (heard.ended || heard.failures > 0); });
    for (const auto& each : ours) ::unsetenv(each.first.c_str());
    return "\n" + heard.input;
}

bool has(const std::string& environment, const std::string& line) {
    return environment.find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("a child inherits a short list of environment variables, without secrets of this process") {
    std::string all = environment_of_child(false, {{"KEEL_TOKEN", "secret"},
                                                   {"LC_MESSAGES", "C"},
                                                   {"TMPDIR", "/tmp"},
                                                   {"TZ", "() { bad; }"},
                                                   {"http_proxy", "http://user:password@127.0.0.1:1"}});
    CHECK(all.find("secret") == std::string::npos);
    CHECK(all.find("password") == std::string::npos);
    CHECK(all.find("bad") == std::string::npos);
    CHECK(has(all, "LC_MESSAGES=C"));
    CHECK(has(all, "TMPDIR=/tmp"));
    CHECK(has(all, "PATH=" + std::string(::getenv("PATH"))));
}

TEST_CASE("variables of the caller are added to the short list, and replace variables in it") {
    std::string all = environment_of_child(false, {{"TZ", "UTC"}}, {{"KEEL_TOKEN", "given"}, {"TZ", "CET"}});
    CHECK(has(all, "KEEL_TOKEN=given"));
    CHECK(has(all, "TZ=CET"));
    CHECK_FALSE(has(all, "TZ=UTC"));
}

TEST_CASE("inherit_environment passes all variables of this process") {
    std::string all = environment_of_child(true, {{"KEEL_TOKEN", "secret"}, {"TZ", "UTC"}}, {{"TZ", "CET"}});
    CHECK(has(all, "KEEL_TOKEN=secret"));
    CHECK(has(all, "TZ=CET"));
    CHECK_FALSE(has(all, "TZ=UTC"));
}

TEST_CASE_TEMPLATE("G6, G7: if the loop ends before the child, the child is killed and reaped", On, KEEL_TEST_LOOPS) {
    std::size_t before = open_descriptors();
    for (bool wire_first : {true, false}) {
        started_child c;
        recorder heard;
        {
            On on;
            child_options options;
            options.limits.child_exit = 1h;
            c = start_child(on.loop(), {.command = "sh", .arguments = {"-c", "exec sleep 3600"}}, options);
            c.wire->start(heard);
            if (wire_first) c.wire->close();
            // An io_context ends its loop when it is destroyed; the wire still holds the other one.
            if constexpr (std::is_same_v<On, on_epoll>) on.loop().end();
        }
        c.wire.reset();
        CHECK(has_no_children());
    }
    CHECK(open_descriptors() == before);
}
