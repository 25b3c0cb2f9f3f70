#include "transport/fd_connection.hpp"
#include "support/descriptors.hpp"
#include "support/process_facts.hpp"
#include "support/real_loops.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

using namespace keel;
using namespace keel::test;
using transport::fd_connection;

namespace {

/// A connection over two pipes, and the peer's ends of them.
template <class On>
struct piped {
    On on;
    one_way in = make_pipe();
    one_way out = make_pipe();
    recorder heard;
    std::unique_ptr<fd_connection> wire =
        std::make_unique<fd_connection>(on.loop(), std::move(in.to), std::move(out.from), "pipes");
};

/// A connection over one socket.
template <class On>
struct socketed {
    On on;
    two_ends ends = make_socket_pair();
    recorder heard;
    std::unique_ptr<fd_connection> wire = std::make_unique<fd_connection>(on.loop(), std::move(ends.ours), "socket");
};

/// An epoll loop that counts how often the wanted events of a descriptor change.
class counting_loop final : public async::reactor {
public:
    std::shared_ptr<async::epoll_loop> below = async::epoll_loop::create();
    std::size_t changes = 0;

    time_point now() const noexcept override { return below->now(); }
    bool post(std::function<void()> work) override { return below->post(std::move(work)); }
    bool here() const noexcept override { return below->here(); }
    timer start_timer(time_point when, std::function<void()> work) override {
        return below->start_timer(when, std::move(work));
    }
    void stop_timer(timer t) noexcept override { below->stop_timer(t); }
    std::unique_ptr<watch> watch_descriptor(int fd, watcher& who) override {
        return std::make_unique<counted>(*this, below->watch_descriptor(fd, who));
    }
    void end() noexcept override { below->end(); }

private:
    class counted final : public watch {
    public:
        counted(counting_loop& owner, std::unique_ptr<watch> below) : owner_(owner), below_(std::move(below)) {}
        void want(unsigned events) override {
            if (std::exchange(wanted_, events) != events) ++owner_.changes;
            below_->want(events);
        }

    private:
        counting_loop& owner_;
        std::unique_ptr<watch> below_;
        unsigned wanted_ = 0;
    };
};

}  // namespace

TEST_CASE("a long message changes the interest in writing twice, however often the peer makes it wait") {
    auto loop = std::make_shared<counting_loop>();
    one_way in = make_pipe();
    one_way out = make_pipe();
    recorder heard;
    fd_connection wire(*loop, std::move(in.to), std::move(out.from), "pipes");
    wire.start(heard);
    loop->changes = 0;
    std::string message(4'000'000, 'x');
    std::size_t sent = 0;
    auto send = [&] { sent += wire.write(std::string_view(message).substr(sent)).bytes; };
    heard.when_writable = send;
    send();
    std::size_t read = 0;
    while (read < message.size()) {
        read += read_exactly(out.to.get(), sent - read).size();
        while (sent == read && sent < message.size()) loop->below->run_turn(true);
    }
    CHECK(heard.writables > 4);
    CHECK(loop->changes == 2);
    wire.close();
    loop->end();
}

TEST_CASE("a pipe is enlarged when a message fills it, and not before") {
    on_epoll on;
    one_way in = make_pipe();
    one_way out = make_pipe();
    int before = ::fcntl(out.to.get(), F_GETPIPE_SZ);
    recorder heard;
    fd_connection wire(on.loop(), std::move(in.to), std::move(out.from), "pipes");
    wire.start(heard);
    write_all(in.from.get(), "short");
    wire.write("short");
    on.until([&] { return heard.input == "short"; });
    CHECK(::fcntl(out.to.get(), F_GETPIPE_SZ) == before);
    CHECK(::fcntl(in.from.get(), F_GETPIPE_SZ) == before);
    std::string large(static_cast<std::size_t>(before), 'x');
    wire.write(large);
    write_all(in.from.get(), large);
    on.until([&] { return heard.input.size() == 5 + large.size(); });
    // The system refuses if the pipes of the user are too large in total.
    for (int fd : {out.to.get(), in.from.get()}) {
        int size = ::fcntl(fd, F_GETPIPE_SZ);
        CHECK((size == before || size == 256 * 1024));
    }
    wire.close();
}

TEST_CASE_TEMPLATE("a message may be split at any byte", On, KEEL_TEST_LOOPS_AND_STRAND) {
    piped<On> t;
    t.wire->start(t.heard);
    std::string message = R"({"jsonrpc":"2.0","id":1,"method":"ping"})"
                          "\n";
    std::string expected;
    for (std::size_t cut = 0; cut <= message.size(); ++cut) {
        write_all(t.in.from.get(), message.substr(0, cut));
        expected += message.substr(0, cut);
        t.on.until([&] { return t.heard.input.size() == expected.size(); });
        write_all(t.in.from.get(), message.substr(cut));
        expected += message.substr(cut);
        t.on.until([&] { return t.heard.input.size() == expected.size(); });
    }
    CHECK(t.heard.input == expected);
}

TEST_CASE_TEMPLATE("thousands of messages are read with one read", On, KEEL_TEST_LOOPS) {
    piped<On> t;
    std::string all;
    for (int i = 0; i < 3000; ++i) all += "{\"id\":" + std::to_string(i) + "}\n";
    REQUIRE(all.size() < 64 * 1024);
    write_all(t.in.from.get(), all);
    t.wire->start(t.heard);
    t.on.until([&] { return !t.heard.input.empty(); });
    CHECK(t.heard.reads == 1);
    CHECK(t.heard.input == all);
}

TEST_CASE_TEMPLATE("C1: the end of input is reported once, after all input; output still works", On,
                   KEEL_TEST_LOOPS_AND_STRAND) {
    piped<On> t;
    t.wire->start(t.heard);
    write_all(t.in.from.get(), "last words");
    t.in.from.reset();
    t.on.until([&] { return t.heard.ended; });
    CHECK(t.heard.input == "last words");
    CHECK(t.wire->write("answer").bytes == 6);
    CHECK(read_exactly(t.out.to.get(), 6) == "answer");
    t.on.poll();
    CHECK(t.heard.failures == 0);
}

TEST_CASE_TEMPLATE("C7: a closed read end is detected without writing, even while reading is paused", On,
                   KEEL_TEST_LOOPS_AND_STRAND) {
    piped<On> t;
    t.wire->start(t.heard);
    SUBCASE("reading") {}
    SUBCASE("paused") { t.wire->pause(); }
    SUBCASE("after the end of input") {
        t.in.from.reset();
        t.on.until([&] { return t.heard.ended; });
    }
    t.out.to.reset();
    t.on.until([&] { return t.heard.failures > 0; });
    CHECK(t.heard.failures == 1);
    CHECK(t.heard.failure == "the peer closed the connection");
    CHECK(!t.wire->write("late").failure.empty());
    t.on.poll();
    CHECK(t.heard.failures == 1);
}

TEST_CASE_TEMPLATE("C7: a closed socket is detected without writing", On, KEEL_TEST_LOOPS_AND_STRAND) {
    socketed<On> t;
    t.wire->start(t.heard);
    SUBCASE("reading: all input, then the end of input") {
        write_all(t.ends.theirs.get(), "bye");
        t.ends.theirs.reset();
        t.on.until([&] { return t.heard.failures > 0; });
        CHECK(t.heard.input == "bye");
        CHECK(t.heard.ended);
    }
    SUBCASE("paused") {
        t.wire->pause();
        t.ends.theirs.reset();
        t.on.until([&] { return t.heard.failures > 0; });
        CHECK(!t.heard.ended);
    }
    CHECK(t.heard.failures == 1);
}

TEST_CASE_TEMPLATE("C7: the end of the peer's process ends the connection if another process keeps the stream open", On,
                   KEEL_TEST_LOOPS_AND_STRAND) {
    // The read end of this pipe becomes readable like a pidfd.
    one_way process = make_pipe();
    auto check = [&](auto& t, descriptor& write_end) {
        t.wire->end_with_process(std::move(process.to), "the client process has ended");
        t.wire->start(t.heard);
        t.on.poll();
        REQUIRE(t.heard.failures == 0);
        SUBCASE("another process has the stream open") {
            SUBCASE("reading") {}
            SUBCASE("paused") { t.wire->pause(); }
            write_all(process.from.get(), "x");
            t.on.until([&] { return t.heard.failures > 0; });
            CHECK(t.heard.failure == "the client process has ended");
            CHECK(!t.wire->write("late").failure.empty());
            write_all(write_end.get(), "late");
            t.on.poll();
            CHECK(t.heard.failures == 1);
            CHECK(t.heard.input.empty());
        }
        SUBCASE("no other process has it open: the remaining input and its end are reported as usual") {
            write_all(write_end.get(), "the last request");
            write_all(process.from.get(), "x");
            write_end.reset();
            t.on.until([&] { return t.heard.ended; });
            CHECK(t.heard.input == "the last request");
        }
        SUBCASE("closed in the callback") {
            t.heard.when_failed = [&] { t.wire.reset(); };
            write_all(process.from.get(), "x");
            t.on.until([&] { return t.heard.failures > 0; });
            CHECK(!t.wire);
        }
    };
    SUBCASE("pipes") {
        piped<On> t;
        check(t, t.in.from);
    }
    SUBCASE("a socket pair") {
        socketed<On> t;
        check(t, t.ends.theirs);
    }
}

TEST_CASE_TEMPLATE("C1: after the end of input, the end of the peer's process changes nothing", On,
                   KEEL_TEST_LOOPS_AND_STRAND) {
    one_way process = make_pipe();
    piped<On> t;
    t.wire->end_with_process(std::move(process.to), "the client process has ended");
    t.wire->start(t.heard);
    t.in.from.reset();
    t.on.until([&] { return t.heard.ended; });
    write_all(process.from.get(), "x");
    t.on.poll();
    CHECK(t.heard.failures == 0);
    CHECK(t.wire->write("answer").bytes == 6);
}

TEST_CASE_TEMPLATE("a peer that only shuts down its output still receives answers", On, KEEL_TEST_LOOPS_AND_STRAND) {
    socketed<On> t;
    t.wire->start(t.heard);
    write_all(t.ends.theirs.get(), "question");
    REQUIRE(::shutdown(t.ends.theirs.get(), SHUT_WR) == 0);
    t.on.until([&] { return t.heard.ended; });
    CHECK(t.wire->write("answer").bytes == 6);
    CHECK(read_exactly(t.ends.theirs.get(), 6) == "answer");
    t.on.poll();
    CHECK(t.heard.failures == 0);
    t.wire->close();
    CHECK(read_all(t.ends.theirs.get()).empty());
}

TEST_CASE_TEMPLATE("C6: a failed write returns its error, and the connection is unusable afterwards", On,
                   KEEL_TEST_LOOPS) {
    piped<On> t;
    t.wire->start(t.heard);
    t.out.to.reset();
    auto done = t.wire->write("nobody reads this");
    CHECK(done.bytes == 0);
    CHECK(done.failure.find("Broken pipe") != std::string::npos);
    write_all(t.in.from.get(), "ignored");
    t.on.poll();
    CHECK(t.heard.reads == 0);
    CHECK(t.heard.failures == 0);
    CHECK(!t.wire->write("again").failure.empty());
}

TEST_CASE_TEMPLATE("a partial write continues when there is room, and no byte is lost", On,
                   KEEL_TEST_LOOPS_AND_STRAND) {
    auto check = [](auto& t, int read_end) {
        std::string all;
        for (int i = 0; all.size() < 2'000'000; ++i) all += std::to_string(i) + '\n';
        std::size_t sent = 0;
        auto send = [&] {
            auto done = t.wire->write(std::string_view(all).substr(sent));
            REQUIRE(done.failure.empty());
            sent += done.bytes;
        };
        t.heard.when_writable = send;
        t.wire->start(t.heard);
        send();
        CHECK(sent < all.size());
        CHECK(t.wire->write("not before on_writable").bytes == 0);
        t.on.poll();
        CHECK(t.heard.writables == 0);
        std::string got;
        while (got.size() < all.size()) {
            if (sent < all.size()) {
                std::size_t before = t.heard.writables;
                got += read_exactly(read_end, sent - got.size());
                t.on.until([&] { return t.heard.writables > before; });
            } else {
                got += read_exactly(read_end, sent - got.size());
            }
        }
        CHECK(got == all);
    };
    SUBCASE("pipe") {
        piped<On> t;
        check(t, t.out.to.get());
    }
    SUBCASE("socket") {
        socketed<On> t;
        check(t, t.ends.theirs.get());
    }
}

TEST_CASE_TEMPLATE("pause stops reading, resume continues it", On, KEEL_TEST_LOOPS_AND_STRAND) {
    piped<On> t;
    t.wire->start(t.heard);
    t.heard.when_input = [&] { t.wire->pause(); };
    write_all(t.in.from.get(), "one");
    t.on.until([&] { return t.heard.reads == 1; });
    write_all(t.in.from.get(), "two");
    t.in.from.reset();
    t.on.poll();
    CHECK(t.heard.reads == 1);
    CHECK(!t.heard.ended);
    t.wire->resume();
    CHECK(t.heard.reads == 1);  // not called inside resume
    t.on.until([&] { return t.heard.reads == 2; });
    CHECK(t.heard.input == "onetwo");
    t.wire->resume();
    t.on.until([&] { return t.heard.ended; });
}

TEST_CASE_TEMPLATE("a connection may be closed or destroyed inside any call to its listener", On,
                   KEEL_TEST_LOOPS_AND_STRAND) {
    for (bool destroy : {false, true}) {
        CAPTURE(destroy);
        auto leave = [&](auto& t) {
            return [&] {
                if (destroy) {
                    t.wire.reset();
                } else {
                    t.wire->close();
                }
            };
        };
        {
            socketed<On> t;
            t.heard.when_input = leave(t);
            t.wire->start(t.heard);
            write_all(t.ends.theirs.get(), "x");
            REQUIRE(::shutdown(t.ends.theirs.get(), SHUT_WR) == 0);
            t.on.until([&] { return t.heard.reads == 1; });
            t.on.poll();
            CHECK(!t.heard.ended);
        }
        {
            socketed<On> t;
            t.heard.when_ended = leave(t);
            t.wire->start(t.heard);
            t.ends.theirs.reset();
            t.on.until([&] { return t.heard.ended; });
            t.on.poll();
            CHECK(t.heard.failures == 0);
        }
        {
            piped<On> t;
            t.heard.when_failed = leave(t);
            t.wire->start(t.heard);
            t.out.to.reset();
            t.on.until([&] { return t.heard.failures == 1; });
            t.on.poll();
        }
        {
            piped<On> t;
            t.heard.when_writable = leave(t);
            t.wire->start(t.heard);
            std::string big(1'000'000, 'x');
            std::size_t taken = t.wire->write(big).bytes;
            read_exactly(t.out.to.get(), taken);
            t.on.until([&] { return t.heard.writables == 1; });
            t.on.poll();
        }
    }
}

TEST_CASE_TEMPLATE("data written before close is delivered, followed by the end", On, KEEL_TEST_LOOPS) {
    SUBCASE("pipe") {
        piped<On> t;
        t.wire->start(t.heard);
        t.wire->write("goodbye");
        t.wire->close();
        t.wire->close();
        CHECK(read_all(t.out.to.get()) == "goodbye");
        CHECK(!t.wire->write("x").failure.empty());
    }
    SUBCASE("socket, with unread input") {
        socketed<On> t;
        t.wire->start(t.heard);
        write_all(t.ends.theirs.get(), "unread");
        t.wire->write("goodbye");
        t.wire->close();
        CHECK(read_all(t.ends.theirs.get()) == "goodbye");
    }
}

TEST_CASE_TEMPLATE("closing a connection that was never started, or whose loop has ended, reports nothing", On,
                   KEEL_TEST_LOOPS_AND_STRAND) {
    std::size_t before = open_descriptors();
    {
        piped<On> unstarted;
        piped<On> t;
        t.wire->start(t.heard);
        t.on.loop().end();
        t.wire->write("still possible");
        t.wire->pause();
        t.wire->resume();
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE_TEMPLATE("files are read in posted turns and written at once", On, KEEL_TEST_LOOPS) {
    scratch_folder folder;
    std::string content;
    for (int i = 0; content.size() < 300'000; ++i) content += std::to_string(i) + '\n';
    {
        descriptor made(::open(folder.file("in").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        write_all(made.get(), content);
    }
    On on;
    recorder heard;
    fd_connection wire(on.loop(), descriptor(::open(folder.file("in").c_str(), O_RDONLY | O_CLOEXEC)),
                       descriptor(::open(folder.file("out").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), "files");
    heard.when_input = [&] {
        if (heard.reads == 2) wire.pause();
    };
    wire.start(heard);
    CHECK(heard.reads == 0);  // not called inside start
    on.poll();
    CHECK(heard.reads == 2);
    wire.resume();
    wire.pause();
    wire.resume();
    on.until([&] { return heard.ended; });
    CHECK(heard.input == content);
    CHECK(wire.write(content).bytes == content.size());
    wire.close();
    descriptor back(::open(folder.file("out").c_str(), O_RDONLY | O_CLOEXEC));
    CHECK(read_all(back.get()) == content);
}

TEST_CASE("C5: a read error is reported once") {
    on_epoll on;
    recorder heard;
    descriptor folder(::open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    one_way out = make_pipe();
    fd_connection wire(on.loop(), std::move(folder), std::move(out.from), "a folder");
    wire.start(heard);
    on.until([&] { return heard.failures > 0; });
    CHECK(heard.failure.find("read failed") == 0);
    on.poll();
    CHECK(heard.failures == 1);
}

TEST_CASE("a write to a full disk fails") {
    on_epoll on;
    recorder heard;
    one_way in = make_pipe();
    fd_connection wire(on.loop(), std::move(in.to), descriptor(::open("/dev/full", O_WRONLY | O_CLOEXEC)), "full");
    wire.start(heard);
    CHECK(wire.write("x").failure.find("No space left") != std::string::npos);
}

TEST_CASE("C8: writing to a closed pipe does not kill a program with default signals; its disposition is restored") {
    forked_process child([] {
        ::signal(SIGPIPE, SIG_DFL);
        on_epoll on;
        recorder heard;
        int in[2];
        int out[2];
        if (::pipe(in) != 0 || ::pipe(out) != 0) return 2;
        ::close(out[0]);
        {
            fd_connection wire(on.loop(), descriptor(in[0]), descriptor(out[1]), "pipes");
            wire.start(heard);
            if (wire.write("x").failure.empty()) return 3;
            fd_connection second(on.loop(), transport::duplicate(in[1]), transport::duplicate(in[1]), "pipes");
            // Processes that a handler starts must not inherit an ignored signal.
            std::FILE* status = ::popen("grep SigIgn /proc/self/status", "r");
            unsigned long long ignored = 0;
            if (!status || std::fscanf(status, "SigIgn: %llx", &ignored) != 1) return 4;
            ::pclose(status);
            if (ignored & (1ull << (SIGPIPE - 1))) return 5;
        }
        struct sigaction now{};
        ::sigaction(SIGPIPE, nullptr, &now);
        return now.sa_handler == SIG_DFL ? 0 : 6;
    });
    CHECK(child.wait() == 0);
}

TEST_CASE("C8: a SIGPIPE disposition that the program has set is not changed") {
    forked_process child([] {
        ::signal(SIGPIPE, SIG_IGN);
        on_epoll on;
        int in[2];
        if (::pipe(in) != 0) return 2;
        {
            fd_connection wire(on.loop(), descriptor(in[0]), descriptor(in[1]), "pipe");
            struct sigaction now{};
            ::sigaction(SIGPIPE, nullptr, &now);
            if (now.sa_handler != SIG_IGN) return 3;
        }
        struct sigaction now{};
        ::sigaction(SIGPIPE, nullptr, &now);
        return now.sa_handler == SIG_IGN ? 0 : 4;
    });
    CHECK(child.wait() == 0);
}
