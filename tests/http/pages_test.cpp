// The pages for people and for monitoring.

#include "http/web.hpp"

using namespace keel;
using namespace keel::test;

namespace {

/// A client that is no MCP client: its responses are not checked as messages.
struct browser {
    explicit browser(web& of) : w(of), wire(std::make_shared<script>(of.loop)) {
        w.on_loop([this] { w.core->worker_of(0).adopt(wire->open(), http::ip_address()); });
    }
    seen_answer send(std::string_view method, std::string_view path) {
        wire->feed(std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
        w.run();
        seen_output all = read_answers(wire->output(), wire->closed());
        CHECK(all.problem.empty());
        REQUIRE(!all.answers.empty());
        return all.answers.back();
    }
    ~browser() {
        wire->eof();
        w.run();
    }

    web& w;
    std::shared_ptr<script> wire;
};

}  // namespace

TEST_CASE("the health page has the number of connections, sessions and running calls") {
    web w;
    http_session s = w.open_session();
    w.connect(s).send(s.call("1", "hold"));
    browser b(w);
    w.core->counters.connections += 2;  // only accepted sockets are counted
    seen_answer page = b.send("GET", "/health");
    w.core->counters.connections -= 2;
    CHECK(page.status == 200);
    CHECK(page.header("cache-control") == "no-store");
    json::value said = json::parse(page.body);
    CHECK(said["status"] == json::value("ok"));
    CHECK(said["connections"].as_int() == 2);
    CHECK(said["sessions"].as_int() == 1);
    CHECK(said["inFlight"].as_int() == 1);
}

TEST_CASE("pages accept only GET and HEAD") {
    web w;
    browser b(w);
    for (const char* path : {"/", "/health", "/metrics"}) {
        CAPTURE(path);
        seen_answer refused = b.send("DELETE", path);
        CHECK(refused.status == 405);
        CHECK(refused.header("allow") == "GET, HEAD");
        CHECK(b.send("GET", path).status == 200);
    }
}
