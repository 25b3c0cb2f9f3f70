#include "program/command_line.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;

TEST_CASE("the command line accepts durations with a unit, and bare numbers as seconds") {
    using keel::program::read_duration;
    CHECK(read_duration("2") == 2s);
    CHECK(read_duration("2s") == 2s);
    CHECK(read_duration("1.5s") == 1500ms);
    CHECK(read_duration("200ms") == 200ms);
    CHECK(read_duration("2m") == 2min);
    CHECK(read_duration("1h") == 1h);
    for (const char* wrong : {"", "s", "-1s", "1d", "1 s", "1e3", "nan", "inf", "99999999999h"}) {
        CAPTURE(wrong);
        CHECK_FALSE(read_duration(wrong));
    }
}

TEST_CASE("an invalid command line is reported with its first error") {
    auto problem = [](std::vector<const char*> words) {
        words.insert(words.begin(), "program");
        return keel::program::read_command_line(static_cast<int>(words.size()), words.data()).problem;
    };
    CHECK(problem({}) == "");
    CHECK(problem({"--stdio", "--drain", "1s", "--log-level=debug"}) == "");
    CHECK(problem({"--unix"}) == "--unix needs a path");
    CHECK(problem({"--drain", "soon"}) == "--drain: invalid duration: soon (use 2s or 500ms)");
    CHECK(problem({"--threads", "0"}) == "--threads: invalid number: 0 (1 to 1024)");
    CHECK(problem({"--tls-cert", "x.pem"}) == "--tls-cert and --tls-key must be used together");
    CHECK(problem({"--stdio", "--stdio"}) == "--stdio may be given only once");
    CHECK(problem({"--nonsense"}) == "unknown option: --nonsense");
    CHECK(problem({"--log-level", "loud"}).starts_with("--log-level: invalid level: loud"));
}

TEST_CASE("a server watches its client process unless the command line or the environment says otherwise") {
    auto watch = [](std::vector<const char*> words) {
        words.insert(words.begin(), "program");
        auto line = keel::program::read_command_line(static_cast<int>(words.size()), words.data());
        CHECK(line.problem == "");
        return line.serving.watch_client;
    };
    CHECK(watch({}) == std::nullopt);  // the environment decides
    CHECK(watch({"--no-watch-client"}) == false);
    const char* with_value[] = {"program", "--no-watch-client=1"};
    CHECK(keel::program::read_command_line(2, with_value).problem == "--no-watch-client takes no value");

    using keel::program::read_watch_client;
    CHECK(read_watch_client(nullptr) == true);
    for (const char* on : {"", "on", "1"}) CHECK(read_watch_client(on) == true);
    for (const char* off : {"off", "0"}) CHECK(read_watch_client(off) == false);
    for (const char* wrong : {"no", "OFF", "2", " "}) CHECK(read_watch_client(wrong) == std::nullopt);
}

TEST_CASE("without an endpoint on the command line, the server uses standard input and output") {
    auto read = [](std::vector<const char*> words) {
        words.insert(words.begin(), "program");
        return keel::program::read_command_line(static_cast<int>(words.size()), words.data());
    };
    auto alone = read({"--threads", "2"});
    REQUIRE(alone.serving.endpoints.size() == 1);
    CHECK(alone.serving.endpoints[0].where == keel::endpoint::kind::stdio);
    auto web = read({"--http", "8848", "--path=/other"});
    CHECK(web.serving.endpoints.empty());
    CHECK(web.http_addresses == std::vector<std::string>{"8848"});
    CHECK(web.http.path == "/other");
}
