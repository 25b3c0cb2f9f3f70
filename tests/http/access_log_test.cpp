// The access log, and the log messages about refused requests.

#include "http/web.hpp"

#include <doctest/doctest.h>

using namespace keel;
using namespace keel::test;

namespace {

/// Keeps entries as "POST /mcp 200 tools/call echo"; "-" for texts that are empty.
web_settings logging(std::vector<std::string>& entries, access_entry* last = nullptr) {
    web_settings how;
    how.http.access_log = [&entries, last](const access_entry& e) {
        auto text = [](std::string_view t) { return t.empty() ? std::string("-") : std::string(t); };
        entries.push_back(text(e.http_method) + " " + text(e.path) + " " + std::to_string(e.status) + " " +
                          text(e.method) + " " + text(e.tool));
        if (last) {
            last->bytes_in = e.bytes_in;
            last->bytes_out = e.bytes_out;
        }
    };
    return how;
}

}  // namespace

TEST_CASE("the access log has one entry for each request, with the names of method and tool") {
    std::vector<std::string> entries;
    access_entry last;
    web w(logging(entries, &last));
    web_client& c = w.connect_from("192.0.2.1");
    c.send(modern_call("1", "echo"));
    CHECK(entries == lines{"POST /mcp 200 tools/call echo"});
    CHECK(last.bytes_in == modern_call_line("1", "echo").size());
    CHECK(last.bytes_out == c.wire->output().size());
    c.send(modern_call("2", "no-such-tool"));  // names that the server does not know may be contents
    CHECK(entries.back() == "POST /mcp 200 tools/call -");
    c.send(modern_post(modern_line("3", "secret/method", "")));
    CHECK(entries.back() == "POST /mcp 404 other -");
    c.send("GET /page?token=secret HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    CHECK(entries.back() == "GET /page 404 - -");
    CHECK(entries.size() == 4);
}

TEST_CASE("the access log has the principal, the address and the revision, and no contents") {
    std::vector<std::string> entries;
    web_settings how;
    how.http.identify = [](const http_request&) { return std::optional<std::string>("ann"); };
    how.http.access_log = [&](const access_entry& e) {
        std::string line;
        append_access_line(line, e, log_format::json);
        entries.push_back(line);
    };
    web w(how);
    web_client& c = w.connect_from("192.0.2.1");
    c.send(modern_call("1", "echo", R"({"at":"secret"})"));
    REQUIRE(entries.size() == 1);
    const json::value v = json::parse(entries[0]);
    CHECK(v["principal"].as_string() == "ann");
    CHECK(v["address"].as_string() == "192.0.2.1");
    CHECK(v["revision"].as_string() == "2026-07-28");
    CHECK(v["status"].as_int() == 200);
    CHECK(entries[0].find("secret") == std::string::npos);
}

TEST_CASE("a stream has one entry, at its end; a client that disconnects before a response has status 0") {
    std::vector<std::string> entries;
    web w(logging(entries));
    web_client& c = w.connect();
    c.send(modern_call("1", "talk", R"({"at":"a"})", "1"));
    CHECK(entries.empty());
    w.open("a");
    CHECK(entries == lines{"POST /mcp 200 tools/call talk"});
    web_client& gone = w.connect();
    gone.send(modern_call("1", "hold", R"({"at":"b"})"));
    gone.gone();
    CHECK(entries.back() == "POST /mcp 0 tools/call hold");
    CHECK(entries.size() == 2);
    w.open("b");
}

TEST_CASE("requests of a session and requests that cannot be parsed have an entry too") {
    std::vector<std::string> entries;
    web w(logging(entries));
    http_session s = w.open_session();
    CHECK(entries.at(0) == "POST /mcp 200 initialize -");
    w.connect(s).send(s.call("1", "echo"));
    CHECK(entries.back() == "POST /mcp 200 tools/call echo");
    web_client& bad = w.connect();
    bad.feed("no HTTP\r\n\r\n");
    w.run();
    CHECK(entries.back() == "- - 400 - -");
}

TEST_CASE("a refused request is logged with its status and reason: as a warning if an administrator can change it") {
    web w;
    w.connect().send("GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://evil.example\r\n\r\n");
    CHECK(w.logged("warning: GET /mcp refused: 403 Origin not allowed"));
    w.connect().send("PUT /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n");
    CHECK(w.logged("info: PUT /mcp refused: 405 method not allowed"));
    w.connect().send("GET /no\x1bwhere HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    w.connect().send("GET /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    CHECK(w.logged("info: GET /nowhere refused: 404 Not Found"));
}

TEST_CASE("HTTP-11, B17: a call that ends because its client disconnected is not a warning") {
    web w;
    web_client& c = w.connect();
    c.send(modern_call("1", "hold", R"({"at":"a"})"));
    c.gone();
    CHECK_FALSE(w.logged("warning"));
    CHECK_FALSE(w.logged("error"));
    w.open("a");
}

TEST_CASE("B17: a client of a session that cancels its call causes no warning") {
    web w;
    http_session s = w.open_session();
    web_client& c = w.connect(s);
    c.send(s.call("1", "hold", R"({"at":"a"})"));
    w.ask(s, s.post(cancel_line("1", "user pressed stop")));
    CHECK(w.logged("info: request cancelled by the client: user pressed stop"));
    CHECK_FALSE(w.logged("warning"));
    w.open("a");
}
