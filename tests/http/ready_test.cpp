// The pages for load balancers, and the phase before a shutdown.

#include "http/web.hpp"

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;

namespace {

std::string get_page(const std::string& path, const std::string& host = "127.0.0.1") {
    return "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
}

int status_of_page(web& w, const std::string& path) {
    web_client& c = w.connect();
    c.send(get_page(path));
    return c.status();
}

}  // namespace

TEST_CASE("/ready answers 503 for unready_time before the shutdown, while requests are served") {
    web w({.http = {.unready_time = 10s}});
    CHECK(status_of_page(w, "/ready") == 200);
    web_client& early = w.connect();
    w.on_loop([&] { w.core->stop_after_notice({}); });
    CHECK(status_of_page(w, "/ready") == 503);
    CHECK(status_of_page(w, "/health") == 200);
    w.advance(9s);
    early.send(modern_call("1", "echo", R"({"at":"a"})"));
    CHECK(early.status() == 200);
    web_client& late = w.connect();
    late.send(modern_call("1", "echo", R"({"at":"b"})"));
    CHECK(late.status() == 200);
    http_session s = w.open_session();
    CHECK(w.sessions() == 1);
    w.on_loop([&] { w.core->stop_after_notice({}); });  // no effect
    CHECK_FALSE(w.stopped());
    w.advance(1s);
    w.advance(5s);
    CHECK(w.stopped());
}

TEST_CASE("without unready_time the shutdown begins at once, and server::stop never waits for it") {
    web at_once;
    at_once.on_loop([&] { at_once.core->stop_after_notice({}); });
    CHECK(at_once.stopped());

    web w({.http = {.unready_time = 10s}});
    w.on_loop([&] { w.core->stop_after_notice({}); });
    CHECK_FALSE(w.stopped());
    w.host->request_stop();
    w.run();
    CHECK(w.stopped());
    w.advance(20s);
}

TEST_CASE("an application can be unready without a shutdown") {
    web w;
    w.core->ready = false;
    CHECK(status_of_page(w, "/ready") == 503);
    web_client& c = w.connect();
    c.send(modern_call("1", "echo", R"({"at":"a"})"));
    CHECK(c.status() == 200);
    w.core->ready = true;
    CHECK(status_of_page(w, "/ready") == 200);
}

TEST_CASE("load balancers may use any Host for /ready and /health, and the paths can be changed or turned off") {
    web w({.http = {.health_path = "", .ready_path = "/up"}});
    web_client& c = w.connect();
    c.send(get_page("/up", "10.1.2.3"));
    CHECK(c.status() == 200);
    c.send(get_page("/metrics", "10.1.2.3"));
    CHECK(c.status() == 421);
    CHECK(status_of_page(w, "/ready") == 404);
    CHECK(status_of_page(w, "/health") == 404);
}
