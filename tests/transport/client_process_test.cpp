#include "transport/client_process.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using keel::transport::find_client;
using keel::transport::parse_process_stat;
using keel::transport::process_facts;

namespace {

using chain = std::vector<process_facts>;

constexpr const char* our_pipe = "pipe:[77]";
const process_facts server_process{.pid = 400, .parent = 300, .start_time = 40, .input = our_pipe};

/// The pid of the client, or 0.
pid_t client_of(const chain& c) {
    auto at = find_client(c);
    return at ? c[*at].pid : 0;
}

}  // namespace

TEST_CASE("the parent of a stdio server is its client if it has another standard input") {
    CHECK(client_of({server_process, {300, 1, 30, "/dev/pts/0"}, {1, 0, 1, "/dev/null"}}) == 300);
    CHECK(client_of({server_process, {300, 1, 30, "pipe:[78]"}, {1, 0, 1, "/dev/null"}}) == 300);
    process_facts with_socket{400, 300, 40, "socket:[5]"};
    CHECK(client_of({with_socket, {300, 1, 30, "socket:[6]"}}) == 300);
}

TEST_CASE("wrappers pass on their standard input and are not the client") {
    CHECK(client_of({server_process, {300, 200, 30, our_pipe}, {200, 1, 20, "/dev/null"}, {1, 0, 1, "/dev/null"}}) ==
          200);
    CHECK(client_of({server_process, {300, 200, 30, our_pipe}, {200, 100, 20, our_pipe}, {100, 1, 10, "/dev/pts/3"}}) ==
          100);
}

TEST_CASE("a server without a recognizable client has none") {
    SUBCASE("no ancestors, as in a container") { CHECK(client_of({{1, 0, 40, our_pipe}}) == 0); }
    SUBCASE("an empty chain") { CHECK(client_of({}) == 0); }
    SUBCASE("every ancestor has the same input") {
        CHECK(client_of({server_process, {300, 1, 30, our_pipe}, {1, 0, 1, our_pipe}}) == 0);
    }
    SUBCASE("the standard input of an ancestor is unknown") {
        CHECK(client_of({server_process, {300, 200, 30, ""}, {200, 1, 20, "/dev/null"}}) == 0);
        CHECK(client_of({server_process, {300, 200, 30, our_pipe}, {200, 1, 20, ""}, {1, 0, 1, "/dev/null"}}) == 0);
    }
    SUBCASE("the input is not an unnamed pipe or a socket") {
        for (const char* input : {"/dev/pts/0", "/run/fifo", "/home/u/requests.jsonl", "/dev/null", "pipe:", ""}) {
            CAPTURE(input);
            CHECK(client_of({{400, 300, 40, input}, {300, 1, 30, "/dev/null"}}) == 0);
        }
    }
}

TEST_CASE("a chain that changed while it was read has no client") {
    SUBCASE("a process is not the parent of the one before it") {
        CHECK(client_of({server_process, {301, 1, 30, "/dev/null"}}) == 0);
        CHECK(client_of({server_process, {300, 200, 30, our_pipe}, {201, 1, 20, "/dev/null"}}) == 0);
    }
    SUBCASE("a parent that is younger than its child has a reused pid") {
        CHECK(client_of({server_process, {300, 1, 41, "/dev/null"}}) == 0);
    }
    SUBCASE("a parent of the same age is valid: the clock is coarse") {
        CHECK(client_of({server_process, {300, 1, 40, "/dev/null"}}) == 300);
    }
}

TEST_CASE("parent and start time are read from /proc/PID/stat") {
    std::string rest = " S 300 400 400 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1000 200 18446744073709551615\n";
    for (const char* name : {"(server)", "(a b)", "(a) S 9 (b)", "()"}) {
        CAPTURE(name);
        auto facts = parse_process_stat("400 " + std::string(name) + rest);
        REQUIRE(facts);
        CHECK(facts->parent == 300);
        CHECK(facts->start_time == 98765);
    }
    for (const char* wrong :
         {"", "400", "400 (server)", "400 (server) S", "400 (server) S x 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0",
          "400 (server) S 300 400 400 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0"}) {
        CAPTURE(wrong);
        CHECK_FALSE(parse_process_stat(wrong));
    }
}
