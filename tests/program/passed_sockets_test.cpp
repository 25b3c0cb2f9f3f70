#include "program/passed_sockets.hpp"
#include "program/command_line.hpp"
#include "transport/sockets.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace keel;
using program::socket_name;

namespace {

/// A listening socket on 127.0.0.1.
struct listening_socket {
    listening_socket() {
        auto found = transport::resolve({"127.0.0.1", 0}, 0);
        REQUIRE(::bind(socket.get(), found->ai_addr, found->ai_addrlen) == 0);
        REQUIRE(::listen(socket.get(), 1) == 0);
    }
    transport::passed_socket named(std::string name) const { return {socket.get(), std::move(name)}; }
    std::string text() const { return "fd:" + std::to_string(socket.get()); }

    transport::descriptor socket = transport::open_socket(AF_INET);
};

program::command_line read_options(std::vector<const char*> words) {
    words.insert(words.begin(), "program");
    auto line = program::read_command_line(static_cast<int>(words.size()), words.data());
    CHECK(line.problem == "");
    return line;
}

}  // namespace

TEST_CASE("systemd and systemd:NAME are addresses of passed sockets") {
    CHECK(socket_name("systemd") == "");
    CHECK(socket_name("systemd:web") == "web");
    for (const char* other : {"", "systemd:", "systemd:80", "systemdx", "127.0.0.1:80"}) {
        CAPTURE(other);
        CHECK(socket_name(other) == std::nullopt);
    }
}

TEST_CASE("each option gets the sockets with its name, and systemd alone the others") {
    listening_socket a;
    listening_socket b;
    listening_socket c;
    listening_socket d;
    auto line = read_options({"--http", "systemd", "--monitor", "systemd:monitor", "--tcp=systemd:lines"});
    std::string problem =
        program::use_passed_sockets(line, {a.named("monitor"), b.named("web"), c.named("lines"), d.named("more")});
    CHECK(problem == "");
    CHECK(line.http_addresses == std::vector<std::string>{b.text(), d.text()});
    CHECK(line.http.monitor_address == a.text());
    REQUIRE(line.serving.endpoints.size() == 1);
    CHECK(line.serving.endpoints[0].address == c.text());
}

TEST_CASE("a command line without these addresses ignores passed sockets") {
    listening_socket a;
    auto line = read_options({"--http", "8848"});
    CHECK(program::use_passed_sockets(line, {a.named("web")}) == "");
    CHECK(line.http_addresses == std::vector<std::string>{"8848"});
}

TEST_CASE("missing, unused and unsuitable passed sockets are reported") {
    listening_socket a;
    listening_socket b;
    auto problem = [](std::vector<const char*> words, const std::vector<transport::passed_socket>& passed) {
        auto line = read_options(std::move(words));
        return program::use_passed_sockets(line, passed);
    };
    CHECK(problem({"--http", "systemd"}, {}) ==
          "--http systemd: the service manager has passed no such socket (LISTEN_FDS)");
    CHECK(problem({"--http", "systemd:web"}, {a.named("other")}) ==
          "--http systemd:web: the service manager has passed no such socket (LISTEN_FDS)");
    CHECK(problem({"--http", "systemd:web"}, {a.named("web"), b.named("other")}) ==
          "no option uses one of the sockets that systemd passes");
    CHECK(problem({"--http", "systemd", "--tcp", "systemd"}, {a.named("web")}) ==
          "a socket of systemd is used by two options");
    CHECK(problem({"--http=systemd:a", "--monitor=systemd:m"}, {a.named("m"), b.named("m")}) ==
          "--http systemd:a: the service manager has passed no such socket (LISTEN_FDS)");
    transport::descriptor unbound = transport::open_socket(AF_INET);
    CHECK(problem({"--http", "systemd"}, {{unbound.get(), "web"}}).find("not a listening stream socket") !=
          std::string::npos);
    REQUIRE(::listen(unbound.get(), 1) == 0);  // on all interfaces
    CHECK(problem({"--http", "systemd"}, {{unbound.get(), "web"}}).find("--allow-host") != std::string::npos);
}
