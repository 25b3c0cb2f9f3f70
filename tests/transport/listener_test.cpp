#include "support/descriptors.hpp"
#include "support/real_loops.hpp"

#include <keel/async.hpp>
#include <keel/transport.hpp>

#include <doctest/doctest.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

using namespace keel;
using namespace keel::test;

namespace {

/// Runs a task to completion on a real loop.
template <class On, class T>
T run(On& on, task<T> work) {
    std::optional<detail::outcome<T>> ended;
    detail::activity line(on.loop());
    detail::start(line, std::move(work), [&](detail::outcome<T> result) { ended = std::move(result); });
    on.until([&] { return ended.has_value(); });
    if (ended->index() == 0) std::rethrow_exception(std::get<0>(*ended));
    return std::get<1>(std::move(*ended));
}

struct accepted_list {
    std::vector<std::unique_ptr<connection>> all;
    listener::accepted callback() {
        return [this](std::unique_ptr<connection> c) { all.push_back(std::move(c)); };
    }
};

template <class On>
void talk(On& on, connection& client, connection& server) {
    recorder at_client;
    recorder at_server;
    client.start(at_client);
    server.start(at_server);
    CHECK(client.write("question\n").bytes == 9);
    on.until([&] { return at_server.input == "question\n"; });
    CHECK(server.write("answer\n").bytes == 7);
    on.until([&] { return at_client.input == "answer\n"; });
    client.close();
    on.until([&] { return at_server.ended; });
    server.close();
}

}  // namespace

TEST_CASE("HOST:PORT is parsed; an error names the problem") {
    CHECK(tcp_address::parse("127.0.0.1:8848") == tcp_address{"127.0.0.1", 8848});
    CHECK(tcp_address::parse("[::1]:0") == tcp_address{"::1", 0});
    CHECK(tcp_address::parse("localhost:65535") == tcp_address{"localhost", 65535});
    CHECK(tcp_address::parse("[::1]:80").text() == "[::1]:80");
    CHECK(tcp_address{"a", 1}.text() == "a:1");
    auto complaint = [](const char* text) -> std::string {
        try {
            tcp_address::parse(text);
        } catch (const std::invalid_argument& e) {
            return e.what();
        }
        return "accepted";
    };
    CHECK(complaint("8848") == "invalid address \"8848\": missing port; expected HOST:PORT");
    CHECK(complaint("[::1]") == "invalid address \"[::1]\": missing port; expected HOST:PORT");
    CHECK(complaint("[::1") == "invalid address \"[::1\": missing ]; expected HOST:PORT");
    CHECK(complaint("::1:80").find("requires brackets") != std::string::npos);
    CHECK(complaint(":80").find("missing host") != std::string::npos);
    CHECK(complaint("256.0.0.1:1").find("invalid IP address") != std::string::npos);
    CHECK(complaint("[::g]:1").find("invalid IP address") != std::string::npos);
    CHECK(tcp_address::parse("[fe80::1%eth0]:1").host == "fe80::1%eth0");
    for (const char* port : {"a:", "a:65536", "a:-1", "a:8 ", "a:+1", "a:0x1", "a:99999999999"}) {
        CHECK(complaint(port).find("the port must be a number from 0 to 65535") != std::string::npos);
    }
}

TEST_CASE_TEMPLATE("peers connect over TCP, to a port chosen by the system", On, KEEL_TEST_LOOPS_AND_STRAND) {
    for (const char* address : {"127.0.0.1:0", "[::1]:0", "localhost:0"}) {
        CAPTURE(address);
        On on;
        accepted_list accepted;
        tcp_address where = tcp_address::parse(address);
        auto at = listen_tcp(on.loop(), where, accepted.callback());
        REQUIRE(at->port() != 0);
        where.port = at->port();
        CHECK(at->describe().starts_with("tcp "));
        CHECK(at->describe().ends_with(":" + std::to_string(at->port())));
        auto client = run(on, connect_tcp(on.loop(), where));
        CHECK(client->describe() == "tcp " + where.text());
        on.until([&] { return !accepted.all.empty(); });
        talk(on, *client, *accepted.all.front());
    }
}

TEST_CASE_TEMPLATE("peers connect over a Unix socket that only its owner can open, and that is removed on close", On,
                   KEEL_TEST_LOOPS_AND_STRAND) {
    scratch_folder folder;
    std::string path = folder.file("socket");
    On on;
    accepted_list accepted;
    auto at = listen_unix(on.loop(), path, accepted.callback());
    CHECK(at->describe() == "unix " + path);
    CHECK(at->port() == 0);
    struct stat s{};
    REQUIRE(::stat(path.c_str(), &s) == 0);
    CHECK((s.st_mode & 0777) == 0600);
    auto client = connect_unix(on.loop(), path);
    on.until([&] { return !accepted.all.empty(); });
    talk(on, *client, *accepted.all.front());
    at->close();
    at->close();
    CHECK(!std::filesystem::exists(path));
}

TEST_CASE("a stale Unix socket is replaced; a socket in use or another file is not") {
    scratch_folder folder;
    on_epoll on;
    accepted_list accepted;
    std::string path = folder.file("socket");
    SUBCASE("stale") {
        {
            sockaddr_un address{};
            address.sun_family = AF_UNIX;
            path.copy(address.sun_path, sizeof address.sun_path - 1);
            descriptor dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
            REQUIRE(::bind(dead.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
        }
        auto at = listen_unix(on.loop(), path, accepted.callback());
        CHECK(connect_unix(on.loop(), path));
    }
    SUBCASE("in use") {
        auto at = listen_unix(on.loop(), path, accepted.callback());
        CHECK_THROWS_WITH_AS(
            listen_unix(on.loop(), path, accepted.callback()),
            ("cannot listen on " + path + ": another process is listening on it: Address already in use").c_str(),
            std::system_error);
        CHECK(connect_unix(on.loop(), path));
    }
    SUBCASE("a file") {
        descriptor made(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        CHECK_THROWS_WITH_AS(
            listen_unix(on.loop(), path, accepted.callback()),
            ("cannot listen on " + path + ": the file exists and is not a socket: File exists").c_str(),
            std::system_error);
        CHECK(std::filesystem::exists(path));
    }
    SUBCASE("a path that is too long") {
        CHECK_THROWS_AS(listen_unix(on.loop(), std::string(200, 'x'), accepted.callback()), std::invalid_argument);
        CHECK_THROWS_AS(listen_unix(on.loop(), "", accepted.callback()), std::invalid_argument);
    }
    SUBCASE("a socket replaced by another process is not removed") {
        auto first = listen_unix(on.loop(), path, accepted.callback());
        std::filesystem::remove(path);
        auto second = listen_unix(on.loop(), path, accepted.callback());
        first.reset();
        CHECK(std::filesystem::exists(path));
    }
}

TEST_CASE("C5: a connection reset by the peer is a failure") {
    on_epoll on;
    accepted_list accepted;
    auto at = listen_tcp(on.loop(), {"127.0.0.1", 0}, accepted.callback());
    recorder heard;
    {
        descriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(at->port());
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        REQUIRE(::connect(client.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
        on.until([&] { return !accepted.all.empty(); });
        accepted.all.front()->start(heard);
        linger now{1, 0};
        ::setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    }
    on.until([&] { return heard.failures > 0; });
    CHECK(heard.failure.find("Connection reset") != std::string::npos);
    CHECK(heard.failures == 1);
}

TEST_CASE("connecting to an address without a listener fails with the reason") {
    on_epoll on;
    scratch_folder folder;
    CHECK_THROWS_WITH_AS(connect_unix(on.loop(), folder.file("none")),
                         ("cannot connect to " + folder.file("none") + ": No such file or directory").c_str(),
                         std::system_error);
    std::uint16_t port = 0;
    {
        accepted_list accepted;
        port = listen_tcp(on.loop(), {"127.0.0.1", 0}, accepted.callback())->port();
    }
    tcp_address nobody{"127.0.0.1", port};
    CHECK_THROWS_AS(run(on, connect_tcp(on.loop(), nobody)), std::system_error);
}

TEST_CASE("a cancelled connect ends at once") {
    on_epoll on;
    // If the backlog of a listener is full, further connects wait.
    descriptor full(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(full.get(), reinterpret_cast<sockaddr*>(&where), sizeof where) == 0);
    REQUIRE(::listen(full.get(), 0) == 0);
    socklen_t size = sizeof where;
    REQUIRE(::getsockname(full.get(), reinterpret_cast<sockaddr*>(&where), &size) == 0);
    tcp_address to{"127.0.0.1", ntohs(where.sin_port)};

    std::vector<std::unique_ptr<connection>> others;
    using attempt = std::pair<std::unique_ptr<detail::activity>, std::optional<bool>>;
    std::vector<std::unique_ptr<attempt>> attempts;
    for (int i = 0; i < 4; ++i) {
        attempts.push_back(std::make_unique<attempt>(std::make_unique<detail::activity>(on.loop()), std::nullopt));
        attempt* a = attempts.back().get();
        detail::start(*a->first, connect_tcp(on.loop(), to),
                      [a, &others](detail::outcome<std::unique_ptr<connection>> r) {
                          a->second = r.index() == 1;
                          if (r.index() == 1) others.push_back(std::get<1>(std::move(r)));
                      });
    }
    on.poll();
    int cancelled_count = 0;
    for (auto& a : attempts) {
        if (a->second) continue;
        a->first->stop();
        CHECK(a->second == false);
        ++cancelled_count;
    }
    CHECK(cancelled_count > 0);
}

TEST_CASE_TEMPLATE("J4: the number of connections is limited; the next peer is accepted when one has closed", On,
                   KEEL_TEST_LOOPS) {
    scratch_folder folder;
    On on;
    accepted_list accepted;
    listen_options two;
    two.max_connections = 2;
    auto at = listen_unix(on.loop(), folder.file("s"), accepted.callback(), two);
    std::vector<std::unique_ptr<connection>> clients;
    for (int i = 0; i < 3; ++i) clients.push_back(connect_unix(on.loop(), folder.file("s")));
    on.until([&] { return accepted.all.size() == 2; });
    on.poll();
    CHECK(accepted.all.size() == 2);
    accepted.all.front()->close();
    on.until([&] { return accepted.all.size() == 3; });
    at.reset();  // destroyed before its connections
}

TEST_CASE("a listener may be destroyed inside its own callback") {
    scratch_folder folder;
    on_epoll on;
    std::unique_ptr<listener> at;
    int calls = 0;
    at = listen_unix(on.loop(), folder.file("s"), [&](std::unique_ptr<connection>) {
        ++calls;
        at.reset();
    });
    auto first = connect_unix(on.loop(), folder.file("s"));
    auto second = connect_unix(on.loop(), folder.file("s"));
    on.until([&] { return calls == 1; });
    on.poll();
    CHECK(calls == 1);
}

TEST_CASE_TEMPLATE("a listener without free descriptors waits without spinning, then continues", On, KEEL_TEST_LOOPS) {
    forked_process child([] {
        scratch_folder folder;
        On on;
        accepted_list accepted;
        auto at = listen_unix(on.loop(), folder.file("s"), accepted.callback());
        auto client = connect_unix(on.loop(), folder.file("s"));
        rlimit before{};
        ::getrlimit(RLIMIT_NOFILE, &before);
        rlimit none = before;
        none.rlim_cur = 0;
        ::setrlimit(RLIMIT_NOFILE, &none);
        on.poll();
        on.poll();
        if (!accepted.all.empty()) return 2;
        // The next event is the timer: a listener that spins would return at once, forever.
        int turns = 0;
        on.until([&] { return ++turns > 1; });
        if (!accepted.all.empty()) return 3;
        ::setrlimit(RLIMIT_NOFILE, &before);
        turns = 0;
        on.until([&] { return ++turns > 100 || !accepted.all.empty(); });
        return accepted.all.size() == 1 ? 0 : 4;
    });
    CHECK(child.wait() == 0);
}

TEST_CASE("TCP connections set TCP_NODELAY") {
    on_epoll on;
    std::size_t checked = 0;
    auto at = listen_tcp(on.loop(), {"127.0.0.1", 0}, [&](std::unique_ptr<connection>) { ++checked; });
    auto client = run(on, connect_tcp(on.loop(), tcp_address{"127.0.0.1", at->port()}));
    on.until([&] { return checked == 1; });
    int found = 0;
    for (auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        int fd = std::stoi(entry.path().filename().string());
        int no_delay = 0;
        int listening = 0;
        socklen_t size = sizeof no_delay;
        if (::getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &no_delay, &size) != 0) continue;
        ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size);
        if (listening) continue;
        CHECK(no_delay == 1);
        ++found;
    }
    CHECK(found >= 1);
}

TEST_CASE("a TCP client acknowledges incomplete input at once; other connections do not") {
    on_epoll on;
    accepted_list accepted;
    auto at = listen_tcp(on.loop(), {"127.0.0.1", 0}, accepted.callback());
    auto client = run(on, connect_tcp(on.loop(), tcp_address{"127.0.0.1", at->port()}));
    on.until([&] { return !accepted.all.empty(); });
    auto sockets_in_quick_mode = [] {
        int found = 0;
        for (auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
            int quick = 0;
            socklen_t size = sizeof quick;
            int fd = std::stoi(entry.path().filename().string());
            if (::getsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &quick, &size) == 0 && quick != 0) ++found;
        }
        return found;
    };
    for (auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        int off = 0;  // as after an exchange of messages
        ::setsockopt(std::stoi(entry.path().filename().string()), IPPROTO_TCP, TCP_QUICKACK, &off, sizeof off);
    }
    REQUIRE(sockets_in_quick_mode() == 0);
    accepted.all.front()->expect_more_input();
    CHECK(sockets_in_quick_mode() == 0);
    client->expect_more_input();
    CHECK(sockets_in_quick_mode() == 1);
    client->close();
    client->expect_more_input();
}

TEST_CASE("D7: a connection attempt that is cancelled during the lookup of the host name ends at once") {
    on_epoll on;
    std::optional<bool> was_cancelled;
    detail::activity line(on.loop());
    detail::start(line, connect_tcp(on.loop(), tcp_address{"localhost", 1}),
                  [&](detail::outcome<std::unique_ptr<connection>> how) {
                      try {
                          std::rethrow_exception(std::get<0>(how));
                      } catch (const cancelled&) {
                          was_cancelled = true;
                      } catch (...) {  // any other error is wrong
                          was_cancelled = false;
                      }
                  });
    CHECK_FALSE(was_cancelled.has_value());
    line.stop();  // the result of the lookup can arrive only when the loop runs
    CHECK(was_cancelled == true);
}
