#include "transport/listen_address.hpp"
#include "transport/activation.hpp"
#include "transport/sockets.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

using namespace keel;
using transport::listen_address;

TEST_CASE("an address to listen on is HOST:PORT, a port on 127.0.0.1, or the path of a Unix socket") {
    CHECK(listen_address::parse("8848").text() == "127.0.0.1:8848");
    CHECK(listen_address::parse(":8848").text() == "127.0.0.1:8848");
    CHECK(listen_address::parse("[::1]:0").text() == "[::1]:0");
    CHECK(listen_address::parse("unix:/run/x.sock").text() == "unix:/run/x.sock");
    CHECK(listen_address::parse("unix:/run/x.sock").path == "/run/x.sock");
    for (const char* wrong : {"", ":", "host", "host:", "host:x", ":x", "host:65536", "99999", "::1:80",
                              "unix:", "fd:", "fd:x", "fd:2", "fd:-1", "fd:3x"}) {
        CAPTURE(wrong);
        CHECK_THROWS_AS(listen_address::parse(wrong), std::invalid_argument);
    }
    CHECK_THROWS_AS(listen_address::parse("unix:/" + std::string(200, 'x')), std::invalid_argument);
}

TEST_CASE("only loopback addresses and Unix sockets are local") {
    for (const char* local : {"8848", "127.0.0.1:1", "127.1.2.3:1", "localhost:1", "[::1]:1", "unix:/run/x"}) {
        CAPTURE(local);
        CHECK(listen_address::parse(local).is_local());
    }
    for (const char* open : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "example.com:1"}) {
        CAPTURE(open);
        CHECK_FALSE(listen_address::parse(open).is_local());
    }
}

TEST_CASE("an inherited descriptor has the address of its socket, and must be a listening stream socket") {
    transport::descriptor socket = transport::open_socket(AF_INET);
    const std::string text = "fd:" + std::to_string(socket.get());
    CHECK_THROWS_AS(listen_address::parse(text), std::invalid_argument);  // not listening
    REQUIRE(::listen(socket.get(), 1) == 0);
    listen_address found = listen_address::parse(text);
    CHECK(found.inherited == socket.get());
    CHECK(found.tcp.host == "0.0.0.0");
    CHECK(found.tcp.port != 0);
    CHECK_FALSE(found.is_local());

    transport::descriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    CHECK_THROWS_AS(listen_address::parse("fd:" + std::to_string(file.get())), std::invalid_argument);
    CHECK_THROWS_AS(listen_address::parse("fd:1000000"), std::invalid_argument);
}

TEST_CASE("the variables of socket activation count only for their process, and are removed") {
    auto set = [](const std::string& process, const char* count, const char* names) {
        ::setenv("LISTEN_PID", process.c_str(), 1);
        ::setenv("LISTEN_FDS", count, 1);
        ::setenv("LISTEN_FDNAMES", names, 1);
    };
    const std::string self = std::to_string(::getpid());
    CHECK(transport::take_passed_sockets().empty());
    set("1", "1", "web");
    CHECK(transport::take_passed_sockets().empty());
    for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) CHECK(std::getenv(name) == nullptr);

    transport::descriptor third(::dup(0));  // so that descriptor 3 is open, whatever else this process has open
    set(self, "1", "web:more");
    auto passed = transport::take_passed_sockets();
    REQUIRE(passed.size() == 1);
    CHECK(passed[0].descriptor == 3);
    CHECK(passed[0].name == "web");
    set(self, "1", "");
    CHECK(transport::take_passed_sockets().at(0).name == "");

    for (const char* wrong : {"x", "-1", "0", "1000000"}) {
        CAPTURE(wrong);
        set(self, wrong, "");
        CHECK_THROWS_AS(transport::take_passed_sockets(), std::invalid_argument);
    }
    set("me", "1", "");
    CHECK_THROWS_AS(transport::take_passed_sockets(), std::invalid_argument);
}
