// A server on standard input and output whose handlers print, tested with a client of each revision.

#include "feature_server.hpp"
#include "support/descriptors.hpp"
#include "support/message_check.hpp"

#include <keel/main.hpp>

#include <cstdio>
#include <iostream>
#include <sstream>

namespace {

using namespace keel::test;
namespace json = keel::json;

std::string print_everywhere() {
    std::printf("stray printf\n");
    std::cout << "stray cout" << std::endl;
    if (::write(1, "stray write\n", 12) != 12) return "could not write";
    std::fprintf(stderr, "a log, gr\xc3\xbc\xc3\x9f dich\n");
    return "two\nlines";
}

/// Runs the server process with its three standard descriptors.
int serve_on(const one_way& in, const one_way& out, const one_way& err) {
    ::dup2(in.to.get(), 0);
    ::dup2(out.from.get(), 1);
    ::dup2(err.from.get(), 2);
    keel::server s({.name = "printing", .version = "1"});
    s.add_tool("print", "", &print_everywhere);
    return keel::run_stdio(s);
}

std::string client_lines(std::string_view version) {
    if (is_modern(version)) return modern_call_line("1", "print") + "\n" + modern_line("2", "tools/list") + "\n";
    return server_under_test::initialize_line("0", version) + "\n" + notification_line("notifications/initialized") +
           "\n" + call_line("1", "print") + "\n" + request_line("2", "tools/list") + "\n";
}

}  // namespace

TEST_CASE("STD-01, STD-02: whatever handlers print, standard output contains only messages, one per line") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        one_way in = make_pipe();
        one_way out = make_pipe();
        one_way err = make_pipe();
        forked_process server([&] {
            in.from.reset();
            return serve_on(in, out, err);
        });
        in.to.reset();
        out.from.reset();
        err.from.reset();
        message_check check;
        std::istringstream said(client_lines(version));
        for (std::string line; std::getline(said, line);) check.sent(line);
        write_all(in.from.get(), client_lines(version));

        // The input stays open until everything is answered: its end cancels running calls.
        std::size_t answers = is_modern(version) ? 2 : 3;
        std::string text;
        for (std::string line; answers > 0;) {
            std::string c = read_exactly(out.to.get(), 1);
            REQUIRE_MESSAGE(!c.empty(), "the output ended after: " << text << line);
            if (c != "\n") {
                line += c;
                continue;
            }
            json::value message = json::parse(line);  // throws if it is not a message
            check.received(message);
            if (message["id"] == json::value(1)) text = message["result"]["content"].at(0)["text"].as_string();
            line.clear();
            --answers;
        }
        in.from.reset();
        CHECK(read_all(out.to.get()).empty());
        CHECK(server.wait() == 0);
        CHECK(text == "two\nlines");
        CHECK_MESSAGE(check.problems().empty(), check.problems());
        std::string logs = read_all(err.to.get());
        CHECK(json::is_utf8(logs));
        for (const char* stray : {"stray printf\n", "stray cout\n", "stray write\n", "gr\xc3\xbc\xc3\x9f dich\n"}) {
            CHECK(logs.find(stray) != std::string::npos);
        }
    }
}
