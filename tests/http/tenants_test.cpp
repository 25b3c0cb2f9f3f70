// http_options::server_for: a server for each session, and for each principal without a session.

#include "http/web.hpp"

#include <atomic>
#include <future>
#include <stdexcept>

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;

namespace {

/// The part of the program: creates servers whose tools answer with their number.
struct program {
    std::vector<std::string> created;
    std::atomic<int> stopped = 0;
    std::function<void()> on_stopped;

    std::shared_ptr<server> make(const server_request& r) {
        created.push_back((r.session ? "session of " : "all of ") + r.principal);
        const std::string number = std::to_string(created.size());
        auto s = std::make_shared<server>(implementation{.name = "tenant", .version = "1"});
        s->add_tool("which", "", [number] { return "server " + number; }, {.quick = true});
        s->add_tool("own-" + number, "", [] { return "mine"; }, {.quick = true});
        s->on_stop([this] {
            ++stopped;
            if (on_stopped) on_stopped();
        });
        return s;
    }
    web_settings settings() {
        web_settings how;
        how.http.server_for = [this](const server_request& r) { return make(r); };
        how.http.identify = [](const http_request& r) -> std::optional<std::string> {
            return std::string(r.header("X-Key").value_or(""));
        };
        return how;
    }
};

/// Adds a header to a request.
std::string as(std::string_view who, std::string request) {
    return request.insert(request.find("\r\n") + 2, "X-Key: " + std::string(who) + "\r\n");
}

http_session open_as(web& w, std::string_view who) {
    web_client& c = w.connect();
    c.send(as(who, http_post(initialize_body("2025-11-25"))));
    REQUIRE(c.status() == 200);
    http_session s{c.last().header("mcp-session-id"), "2025-11-25"};
    c.eof();
    return s;
}

std::string ask(web& w, std::string request) {
    web_client& c = w.connect();
    c.send(std::move(request));
    std::string said = c.status() == 200 ? c.said() : std::to_string(c.status());
    c.eof();
    return said;
}

}  // namespace

TEST_CASE("each principal has one server for its requests without a session, and sees nothing of the others") {
    program p;
    web w(p.settings());
    CHECK(ask(w, as("ann", modern_call("1", "which"))) == "server 1");
    CHECK(ask(w, as("bob", modern_call("1", "which"))) == "server 2");
    CHECK(ask(w, as("ann", modern_call("2", "which"))) == "server 1");
    CHECK(p.created == lines{"all of ann", "all of bob"});
    CHECK(ask(w, as("ann", modern_call("3", "own-1"))) == "mine");
    CHECK(ask(w, as("bob", modern_call("3", "own-1"))).find("unknown tool") != std::string::npos);
    web_client& proxy = w.connect();  // one connection for several principals
    proxy.send(as("ann", modern_call("1", "which")));
    CHECK(proxy.said() == "server 1");
    proxy.send(as("bob", modern_call("2", "which")));
    CHECK(proxy.said() == "server 2");
    proxy.send(as("ann", modern_call("3", "which")));
    CHECK(proxy.said() == "server 1");
    CHECK(p.created.size() == 2);
    CHECK(p.stopped == 0);
    w.stop();
    CHECK(p.stopped == 2);  // the shutdown stops them all
}

TEST_CASE("each session has its own server, which stops when the session has ended") {
    program p;
    web w(p.settings());
    std::promise<void> stopped;
    p.on_stopped = [&] { stopped.set_value(); };
    http_session first = open_as(w, "ann");
    http_session second = open_as(w, "ann");
    CHECK(p.created == lines{"session of ann", "session of ann"});
    CHECK(ask(w, as("ann", first.call("1", "which"))) == "server 1");
    CHECK(ask(w, as("ann", second.call("1", "which"))) == "server 2");
    CHECK(ask(w, as("bob", first.call("2", "which"))) == "404");
    CHECK(ask(w, as("ann", first.end())) == "-");
    stopped.get_future().get();
    p.on_stopped = nullptr;
    CHECK(p.stopped == 1);
    CHECK(ask(w, as("ann", second.call("2", "which"))) == "server 2");
    w.stop();
    CHECK(p.stopped == 2);
}

TEST_CASE("the servers of principals are limited; one that is not in use makes room") {
    program p;
    web_settings how = p.settings();
    how.http.limits.max_servers = 2;
    web w(how);
    std::promise<void> stopped;
    p.on_stopped = [&] { stopped.set_value(); };
    web_client& ann = w.connect();
    ann.send(as("ann", modern_call("1", "which")));
    CHECK(ask(w, as("bob", modern_call("1", "which"))) == "server 2");
    CHECK(ask(w, as("cleo", modern_call("1", "which"))) == "server 3");  // bob's connection is closed
    stopped.get_future().get();
    p.on_stopped = nullptr;
    web_client& cleo = w.connect();
    cleo.send(as("cleo", modern_call("2", "which")));
    CHECK(cleo.said() == "server 3");
    web_client& dan = w.connect();
    dan.send(as("dan", modern_call("1", "which")));
    CHECK(dan.status() == 503);  // the others are in use
    CHECK(w.logged("max_servers"));
    ann.send(as("ann", modern_call("2", "which")));
    CHECK(ann.said() == "server 1");
    CHECK(p.created.size() == 3);
    w.stop();
    CHECK(p.stopped == 3);
}

TEST_CASE("a server that is not used is released after server_idle, and created again when it is needed") {
    program p;
    web_settings how = p.settings();
    how.http.limits.server_idle = 1min;
    web w(how);
    std::promise<void> stopped;
    p.on_stopped = [&] { stopped.set_value(); };
    CHECK(ask(w, as("ann", modern_call("1", "which"))) == "server 1");
    w.advance(50s);
    CHECK(ask(w, as("ann", modern_call("2", "which"))) == "server 1");
    w.advance(50s);
    CHECK(w.core->tenants.size() == 1);
    w.advance(20s);
    CHECK(w.core->tenants.size() == 0);
    stopped.get_future().get();
    p.on_stopped = nullptr;
    CHECK(ask(w, as("ann", modern_call("3", "which"))) == "server 2");
    w.advance(2min);  // nothing is left
}

TEST_CASE(
    "F11: if the factory throws or returns null, the request is refused with a logged reason, and the next one is "
    "served") {
    program p;
    web_settings how = p.settings();
    std::string reason;
    int status = 0;
    bool failing = true;
    SUBCASE("an exception") {
        how.http.server_for = [&](const server_request& r) {
            if (failing) throw std::runtime_error("no database");
            return p.make(r);
        };
        reason = "no database";
        status = 500;
    }
    SUBCASE("another exception") {
        how.http.server_for = [&](const server_request& r) {
            if (failing) throw 42;
            return p.make(r);
        };
        reason = "not a std::exception";
        status = 500;
    }
    SUBCASE("null") {
        how.http.server_for = [&](const server_request& r) { return failing ? nullptr : p.make(r); };
        reason = "returned null";
        status = 503;
    }
    SUBCASE("a start hook throws") {
        how.http.server_for = [&](const server_request& r) {
            auto s = p.make(r);
            if (failing) s->on_start([] { throw std::runtime_error("no license"); });
            return s;
        };
        reason = "no license";
        status = 500;
    }
    web w(how);
    CHECK(ask(w, as("ann", modern_call("1", "which"))) == std::to_string(status));
    CHECK(ask(w, as("ann", http_post(initialize_body("2025-11-25")))) == std::to_string(status));
    CHECK(w.logged(reason));
    CHECK(w.core->tenants.size() == 0);
    CHECK(w.sessions() == 0);
    CHECK(ask(w, "HEAD /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Key: ann\r\n\r\n") == "-");
    failing = false;
    const std::string expected = "server " + std::to_string(p.created.size() + 1);
    CHECK(ask(w, as("ann", modern_call("2", "which"))) == expected);
    w.stop();
}

TEST_CASE("the access log has the tools of the tenant's server, and no names that only another server knows") {
    program p;
    lines entries;
    web_settings how = p.settings();
    how.http.access_log = [&](const access_entry& e) {
        entries.push_back(std::string(e.principal) + " " + std::string(e.method) + " " + std::string(e.tool));
    };
    web w(how);
    ask(w, as("ann", modern_call("1", "own-1")));
    CHECK(entries.back() == "ann tools/call own-1");
    ask(w, as("bob", modern_call("1", "own-1")));
    CHECK(entries.back() == "bob tools/call ");
    ask(w, as("bob", modern_call("2", "echo")));  // a tool of the common server
    CHECK(entries.back() == "bob tools/call ");
    http_session s = open_as(w, "ann");
    CHECK(entries.back() == "ann initialize ");
    ask(w, as("ann", s.call("1", "own-3")));
    CHECK(entries.back() == "ann tools/call own-3");
    ask(w, as("ann", s.call("2", "own-1")));
    CHECK(entries.back() == "ann tools/call ");
    CHECK(entries.size() == 6);
    w.stop();
}

TEST_CASE("the quota of sessions applies to sessions with their own servers") {
    program p;
    web_settings how = p.settings();
    how.http.limits.max_sessions_per_client = 1;
    web w(how);
    http_session first = open_as(w, "ann");
    CHECK(ask(w, as("ann", first.call("1", "which"))) == "server 1");  // it is used: it cannot be replaced
    CHECK(ask(w, as("ann", http_post(initialize_body("2025-11-25")))) == "429");
    CHECK(p.created.size() == 1);
    open_as(w, "bob");
    CHECK(p.created.size() == 2);
    w.stop();
    CHECK(p.stopped == 2);
}

TEST_CASE("without identify, all requests without a session share one server") {
    program p;
    web_settings how = p.settings();
    how.http.identify = {};
    web w(how);
    CHECK(ask(w, modern_call("1", "which")) == "server 1");
    CHECK(ask(w, modern_call("2", "which")) == "server 1");
    w.stop();
}
