#include "support/descriptors.hpp"
#include "support/real_loops.hpp"

#include <keel/transport.hpp>

#include <doctest/doctest.h>

#include <pty.h>
#include <sys/resource.h>
#include <termios.h>

#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

using namespace keel;
using namespace keel::test;

namespace {

/// Echoes its input until the peer is gone.
template <class On>
struct echo_server final : connection::listener {
    On on;
    std::unique_ptr<connection> wire;
    bool over = false;
    bool failed = false;
    std::string waiting;
    std::function<void()> stray = [] {};

    void flush() {
        auto done = wire->write(waiting);
        waiting.erase(0, done.bytes);
        if (!done.failure.empty()) failed = over = true;
    }
    void on_input(std::string_view bytes) override {
        stray();
        waiting += bytes;
        flush();
    }
    void on_writable() override { flush(); }
    void on_input_end() override { over = true; }
    void on_failure(std::string_view) override { failed = over = true; }

    /// 0 for the end of input, 1 if the peer closed the connection.
    int serve() {
        wire = stdio_connection(on.loop());
        wire->start(*this);
        on.until([&] { return over && (failed || waiting.empty()); });
        wire->close();
        return failed ? 1 : 0;
    }
    ~echo_server() = default;
};

/// Makes `fd` the standard descriptor `number` of this process; -1 closes it.
void become(int fd, int number) {
    if (fd < 0) {
        ::close(number);
    } else {
        ::dup2(fd, number);
    }
}

enum class kind { pipe, socket, file, null, terminal };
constexpr kind kinds[] = {kind::pipe, kind::socket, kind::file, kind::null, kind::terminal};

const char* name_of(kind k) {
    switch (k) {
        case kind::pipe: return "pipe";
        case kind::socket: return "socket";
        case kind::file: return "file";
        case kind::null: return "/dev/null";
        case kind::terminal: return "terminal";
    }
    return "";
}

two_ends make_terminal() {
    int master = -1;
    int slave = -1;
    termios plain{};
    ::cfmakeraw(&plain);
    plain.c_lflag |= ICANON;  // so that ^D can end the input; no echo, no translation of line ends
    plain.c_cc[VEOF] = 4;
    REQUIRE(::openpty(&master, &slave, nullptr, &plain, nullptr) == 0);
    ::fcntl(master, F_SETFD, FD_CLOEXEC);
    ::fcntl(slave, F_SETFD, FD_CLOEXEC);
    return {descriptor(master), descriptor(slave)};
}

/// `theirs` is for the server; the test writes to `ours` (or reads from it).
two_ends make_input(kind k, const scratch_folder& folder, const std::string& content) {
    switch (k) {
        case kind::pipe: {
            one_way p = make_pipe();
            return {std::move(p.from), std::move(p.to)};
        }
        case kind::socket: return make_socket_pair();
        case kind::file: {
            descriptor made(::open(folder.file("in").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
            write_all(made.get(), "skipped\n" + content);
            descriptor theirs(::open(folder.file("in").c_str(), O_RDONLY | O_CLOEXEC));
            REQUIRE(::lseek(theirs.get(), 8, SEEK_SET) == 8);  // the position must be kept
            return {descriptor(), std::move(theirs)};
        }
        case kind::null: return {descriptor(), descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC))};
        case kind::terminal: return make_terminal();
    }
    return {};
}

two_ends make_output(kind k, const scratch_folder& folder) {
    switch (k) {
        case kind::pipe: {
            one_way p = make_pipe();
            return {std::move(p.to), std::move(p.from)};
        }
        case kind::socket: return make_socket_pair();
        case kind::file: {
            descriptor theirs(::open(folder.file("out").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
            write_all(theirs.get(), "kept\n");
            return {descriptor(), std::move(theirs)};
        }
        case kind::null: return {descriptor(), descriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC))};
        case kind::terminal: return make_terminal();
    }
    return {};
}

template <class On>
void every_combination() {
    const std::string said = "{\"id\":1}\n{\"id\":2}\n";
    for (kind i : kinds) {
        for (kind o : kinds) {
            CAPTURE(name_of(i));
            CAPTURE(name_of(o));
            scratch_folder folder;
            two_ends in = make_input(i, folder, said);
            two_ends out = make_output(o, folder);
            forked_process server([&] {
                become(in.theirs.get(), 0);
                become(out.theirs.get(), 1);
                in = {};
                out = {};
                echo_server<On> s;
                int code = s.serve();
                // Like exit: none of our output may reach the protocol stream now.
                return std::fflush(stdout) == 0 ? code : 9;
            });
            bool answers = i != kind::null;
            std::string expected = answers ? said : "";
            std::string got;
            if (in.ours) write_all(in.ours.get(), said);
            if (out.ours) got = read_exactly(out.ours.get(), expected.size());
            if (i == kind::terminal) {
                write_all(in.ours.get(), "\x04");
            } else if (in.ours) {
                in.ours.reset();
            }
            CHECK(server.wait() == 0);
            if (o == kind::file) {
                got = read_all(descriptor(::open(folder.file("out").c_str(), O_RDONLY | O_CLOEXEC)).get());
                expected = "kept\n" + expected;
            } else if (o == kind::null) {
                expected = "";
            }
            CHECK(got == expected);
            // The test still shares the descriptions that the server was given.
            CHECK((::fcntl(in.theirs.get(), F_GETFL) & O_NONBLOCK) == 0);
            CHECK((::fcntl(out.theirs.get(), F_GETFL) & O_NONBLOCK) == 0);
        }
    }
}

}  // namespace

TEST_CASE("C13: stdio works over every kind of input and output, and restores blocking mode (epoll)") {
    every_combination<on_epoll>();
}

#ifdef KEEL_HAVE_ASIO
TEST_CASE("C13: stdio works over every kind of input and output, and restores blocking mode (Asio)") {
    every_combination<on_asio>();
}
#endif

TEST_CASE_TEMPLATE("one socket for both directions works, as from inetd", On, KEEL_TEST_LOOPS) {
    two_ends ends = make_socket_pair();
    forked_process server([&] {
        become(ends.theirs.get(), 0);
        become(ends.theirs.get(), 1);
        ends = {};
        echo_server<On> s;
        return s.serve();
    });
    ends.theirs.reset();
    write_all(ends.ours.get(), "both ways\n");
    CHECK(read_exactly(ends.ours.get(), 10) == "both ways\n");
    ::shutdown(ends.ours.get(), SHUT_WR);
    CHECK(server.wait() == 0);
}

TEST_CASE("G11: stray output goes to standard error, a child reads end-of-file, and both descriptors are restored") {
    one_way in = make_pipe();
    one_way out = make_pipe();
    one_way err = make_pipe();
    forked_process server([&] {
        become(in.to.get(), 0);
        become(out.from.get(), 1);
        become(err.from.get(), 2);
        in = {};
        out = {};
        err = {};
        echo_server<on_epoll> s;
        s.stray = [] {
            std::printf("stray printf\n");  // stays in the buffer
            std::cout << "stray cout\n";
            if (::write(1, "stray write\n", 12) != 12) ::_exit(8);
            if (std::system("echo stray child; cat; echo cat saw the end") != 0) ::_exit(8);
        };
        int code = s.serve();
        std::printf("printed afterwards\n");
        return std::fflush(stdout) == 0 ? code : 9;
    });
    in.to.reset();
    out.from.reset();
    err.from.reset();
    write_all(in.from.get(), "hello\n");
    CHECK(read_exactly(out.to.get(), 6) == "hello\n");
    in.from.reset();
    CHECK(server.wait() == 0);
    CHECK(read_all(out.to.get()) == "printed afterwards\n");
    std::string stray = read_all(err.to.get());
    for (const char* expected :
         {"stray printf\n", "stray cout\n", "stray write\n", "stray child\n", "cat saw the end\n"}) {
        CHECK(stray.find(expected) != std::string::npos);
    }
}

TEST_CASE("G11, STD-02: std::cout with its own buffer cannot write to the protocol stream") {
    one_way in = make_pipe();
    one_way out = make_pipe();
    one_way err = make_pipe();
    forked_process server([&] {
        become(in.to.get(), 0);
        become(out.from.get(), 1);
        become(err.from.get(), 2);
        in = {};
        out = {};
        err = {};
        std::ios::sync_with_stdio(false);
        echo_server<on_epoll> s;
        s.stray = [] { std::cout << "stray cout"; };
        int code = s.serve();
        std::cout.flush();
        return code;
    });
    in.to.reset();
    out.from.reset();
    err.from.reset();
    write_all(in.from.get(), "hello\n");
    in.from.reset();
    CHECK(server.wait() == 0);
    CHECK(read_all(out.to.get()) == "hello\n");
    CHECK(read_all(err.to.get()) == "stray cout");
}

TEST_CASE("a server started with closed standard descriptors reads end-of-file and exits") {
    for (int missing = 1; missing < 8; ++missing) {
        CAPTURE(missing);
        one_way in = make_pipe();
        one_way out = make_pipe();
        forked_process server([&] {
            become(missing & 1 ? -1 : in.to.get(), 0);
            become(missing & 2 ? -1 : out.from.get(), 1);
            if (missing & 4) ::close(2);
            in = {};
            out = {};
            // The loop is created first, and must not take the free numbers 0 to 2.
            echo_server<on_epoll> s;
            return s.serve();
        });
        in.to.reset();
        out.from.reset();
        in.from.reset();
        CHECK(server.wait() == 0);
    }
}

TEST_CASE("C7: a server exits when its reader is gone, even without writing and with its input still open") {
    one_way in = make_pipe();
    one_way out = make_pipe();
    forked_process server([&] {
        become(in.to.get(), 0);
        become(out.from.get(), 1);
        in = {};
        out = {};
        echo_server<on_epoll> s;
        return s.serve();
    });
    in.to.reset();
    out.from.reset();
    out.to.reset();
    CHECK(server.wait() == 1);
}

TEST_CASE("C7: a pipe without a reader at startup is detected, and restored") {
    one_way in = make_pipe();
    one_way out = make_pipe();
    out.to.reset();
    descriptor shared = transport::duplicate(out.from.get());
    forked_process server([&] {
        become(in.to.get(), 0);
        become(out.from.get(), 1);
        in = {};
        out = {};
        echo_server<on_epoll> s;
        return s.serve();
    });
    CHECK(server.wait() == 1);
    CHECK((::fcntl(shared.get(), F_GETFL) & O_NONBLOCK) == 0);
}

TEST_CASE("a second connection over standard input throws until the first is closed") {
    forked_process server([] {
        on_epoll on;
        auto first = open_stdio(on.loop());
        bool refused = false;
        try {
            open_stdio(on.loop());
        } catch (const std::logic_error& e) {
            refused = std::string_view(e.what()).find("already in use by another connection") != std::string_view::npos;
        }
        first.wire->close();
        auto second = open_stdio(on.loop());
        return refused && second.wire ? 0 : 1;
    });
    CHECK(server.wait() == 0);
}

TEST_CASE("a regular file as standard input is supported") {
    scratch_folder folder;
    for (kind k : {kind::file, kind::pipe, kind::null}) {
        two_ends in = make_input(k, folder, "x");
        forked_process server([&] {
            become(in.theirs.get(), 0);
            on_epoll on;
            return open_stdio(on.loop()).input_is_file ? 1 : 0;
        });
        CHECK(server.wait() == (k == kind::file ? 1 : 0));
    }
}

TEST_CASE_TEMPLATE("G10: every descriptor that the library opens has O_CLOEXEC", On, KEEL_TEST_LOOPS) {
    one_way in = make_pipe();
    forked_process server([&] {
        become(in.to.get(), 0);
        int before_limit = 0;
        auto inherited = [] {
            // The listing itself: 0, 1, 2 and the one that reads the folder.
            std::FILE* list = ::popen("ls /proc/self/fd | wc -l", "r");
            int count = -1;
            if (!list || std::fscanf(list, "%d", &count) != 1) ::_exit(8);
            ::pclose(list);
            return count;
        };
        before_limit = inherited();
        on_epoll epoll;
        On other;
        auto wire = open_stdio(epoll.loop()).wire;
        recorder heard;
        wire->start(heard);
        scratch_folder folder;
        auto l = listen_unix(epoll.loop(), folder.file("s"), [](std::unique_ptr<connection>) {});
        auto client = connect_unix(other.loop(), folder.file("s"));
        return inherited() == before_limit ? 0 : 1;
    });
    CHECK(server.wait() == 0);
}

TEST_CASE("stdio requires a loop that can watch descriptors") {
    struct other final : loop {
        time_point now() const noexcept override { return {}; }
        bool post(std::function<void()>) override { return false; }
        bool here() const noexcept override { return false; }
        timer start_timer(time_point, std::function<void()>) override { return 0; }
        void stop_timer(timer) noexcept override {}
    } l;
    CHECK_THROWS_AS(open_stdio(l), std::invalid_argument);
}
