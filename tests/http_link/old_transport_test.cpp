// The HTTP+SSE transport of 2024-11-05: one stream, and a URL for POST requests.

#include "http_client/legacy_sse.hpp"
#include "link_under_test.hpp"

using namespace keel;
using namespace keel::test;

namespace {

struct attempt {
    explicit attempt(link_under_test& t) : line(*t.loop) {
        detail::start(line, t.link->fall_back_to_old_transport(), [this](detail::outcome<bool> what) {
            outcome = what.index() == 1 ? (std::get<1>(what) ? "yes" : "no") : "thrown";
        });
    }
    detail::activity line;
    std::string outcome = "waiting";
};

void fall_back(link_under_test& t) {
    attempt a(t);
    REQUIRE(t.on->last().shown() == "GET");
    t.on->open_stream(t.on->last());
    t.on->event(t.on->last(), "/messages?session=9", "event: endpoint\n");
    t.loop->run();
    REQUIRE(a.outcome == "yes");
    t.link->speak(false, "");
}

}  // namespace

TEST_CASE("LHTTP-15: all messages are posted to the endpoint URL, and all responses arrive on the stream") {
    link_under_test t(legacy());
    fall_back(t);
    seen_request& stream = t.on->at(0);
    CHECK(stream.header("Accept") == "text/event-stream");
    auto opening = t.ask("initialize");
    CHECK(t.on->last().what.path == "/messages?session=9");
    t.on->reply(t.on->last(), 202, "text/plain", "Accepted");
    CHECK(opening->ends == 0);
    t.on->event(stream, fake_wire::result_text(t.on->last(), R"({"n":1})"), "event: message\n");
    CHECK(opening->outcome == R"({"n":1})");
    t.speak(false, "2024-11-05");
    t.peer->notify("notifications/initialized", "{}", false);
    CHECK(t.on->last().what.path == "/messages?session=9");
    t.on->accept(t.on->last());
    t.link->session_opened();
    CHECK(t.on->all("GET").size() == 1);
    // An answer may arrive before the response to its POST.
    auto quick = t.ask("quick");
    seen_request& post = t.on->last();
    t.on->event(stream, fake_wire::result_text(post));
    CHECK(quick->outcome == "{}");
    t.on->accept(post);
    // The server sends a request.
    t.on->event(stream, R"({"jsonrpc":"2.0","id":5,"method":"roots/list"})");
    CHECK(t.on->last().shown() == "POST result");
    CHECK(t.on->last().what.path == "/messages?session=9");
    t.on->accept(t.on->last());
}

TEST_CASE("D1, D2: over the old transport the end of the stream is the end of the connection") {
    for (bool graceful : {true, false}) {
        link_under_test t(legacy());
        fall_back(t);
        auto posted = t.ask("a");
        t.on->accept(t.on->last());
        auto unposted = t.ask("b");
        if (graceful) t.on->end(t.on->at(0));
        else t.on->fail(t.on->at(0));
        CHECK(posted->outcome == "connection closed");
        CHECK(unposted->outcome == "connection closed");
        CHECK(t.closes == 1);
        CHECK_FALSE(t.cause.empty());
    }
}

TEST_CASE("D7: over the old transport a call is cancelled with a notification") {
    link_under_test t(legacy());
    fall_back(t);
    auto call = t.ask("a");
    t.on->accept(t.on->last());
    call->line.stop();
    CHECK(t.on->last().shown() == "POST notifications/cancelled");
    CHECK(t.on->last().what.path == "/messages?session=9");
    t.on->accept(t.on->last());
}

TEST_CASE("D10: over the old transport a rejected POST fails its call") {
    link_under_test t(legacy());
    fall_back(t);
    auto refused = t.ask("a");
    t.on->reply(t.on->last(), 404, "text/plain", "no");
    CHECK(refused->outcome == "rejected 0: HTTP 404 Not Found: no");
    auto lost = t.ask("b");
    t.on->fail(t.on->last());
    CHECK(lost->outcome == "stream lost");
    CHECK(t.closes == 0);
}

TEST_CASE("E3: over the old transport an event that is too large is skipped; if it was a response, its call fails") {
    link_settings_for_test how = legacy();
    how.options.max_body = 1000;
    link_under_test t(how);
    fall_back(t);
    seen_request& stream = t.on->at(0);
    auto one = t.ask("one");
    seen_request& first = t.on->last();
    t.on->accept(first);
    auto two = t.ask("two");
    seen_request& second = t.on->last();
    t.on->accept(second);
    t.on->event(stream, R"({"jsonrpc":"2.0","id":)" + first.id() + R"(,"result":")" + std::string(2000, 'x') + "\"}");
    CHECK(one->outcome == "bad message");
    CHECK(two->ends == 0);
    t.on->event(stream, fake_wire::result_text(second));
    CHECK(two->outcome == "{}");
    CHECK(stream.open());
}

TEST_CASE("LHTTP-14: without an event stream the old transport is not used") {
    struct sample {
        const char* what;
        void (*happens)(link_under_test&);
    };
    for (sample each : {
             sample{"405", [](link_under_test& t) { t.on->reply(t.on->last(), 405, "", ""); }},
             sample{"a page", [](link_under_test& t) { t.on->reply(t.on->last(), 200, "text/html", "<p>"); }},
             sample{"no connection", [](link_under_test& t) { t.on->fail(t.on->last()); }},
             sample{"it ends",
                    [](link_under_test& t) {
                        t.on->open_stream(t.on->last());
                        t.on->end(t.on->last());
                    }},
             sample{"another event",
                    [](link_under_test& t) {
                        t.on->open_stream(t.on->last());
                        t.on->event(t.on->last(), "{}");
                    }},
             sample{"another origin",
                    [](link_under_test& t) {
                        t.on->open_stream(t.on->last());
                        t.on->event(t.on->last(), "http://evil.example/messages", "event: endpoint\n");
                    }},
             sample{"it breaks right after",
                    [](link_under_test& t) {
                        t.on->open_stream(t.on->last());
                        t.on->event(t.on->last(), "/messages", "event: endpoint\n");
                        t.on->fail(t.on->last());
                    }},
             sample{"nothing at all", [](link_under_test& t) { t.loop->advance(10s); }},
             sample{"an endless stream of nothing",
                    [](link_under_test& t) {
                        t.on->open_stream(t.on->last());
                        for (int i = 0; i < 10; ++i) {
                            t.on->body(t.on->last(), ": still here\n\n");
                            t.loop->advance(1s);
                        }
                    }},
         }) {
        CAPTURE(std::string(each.what));
        link_under_test t(legacy());
        attempt a(t);
        each.happens(t);
        t.loop->run();
        CHECK(a.outcome == "no");
        CHECK(t.on->open() == 0);
        CHECK(t.closes == 0);
        auto call = t.ask("a");  // as before
        CHECK(t.on->last().what.path.empty());
        t.on->answer(t.on->last());
    }
}

TEST_CASE("the attempt can be cancelled, and disabled") {
    {
        link_under_test t(legacy());
        attempt a(t);
        a.line.stop();
        CHECK(a.outcome == "thrown");
        CHECK(t.on->last().cancelled);
    }
    link_settings_for_test how = legacy();
    how.options.allow_old_transport = false;
    link_under_test t(how);
    attempt a(t);
    CHECK(a.outcome == "no");
    CHECK(t.on->requests.empty());
}

TEST_CASE("LHTTP-15: the endpoint URL may be relative, and must have the same origin") {
    using http_client::endpoint_path;
    auto path = [](std::string_view said, std::string_view origin = "http://a.example:8080",
                   std::string_view base = "/v1/sse?x=1") {
        return endpoint_path(origin, base, said).value_or("none");
    };
    CHECK(path("/messages") == "/messages");
    CHECK(path(" /messages?id=1#part\r") == "/messages?id=1");
    CHECK(path("messages/1") == "/v1/messages/1");
    CHECK(path("?id=2") == "/v1/sse?id=2");
    CHECK(path("../up") == "/up");
    CHECK(path("http://a.example:8080/x") == "/x");
    CHECK(path("HTTP://A.Example:8080?y") == "/?y");
    CHECK(path("//a.example:8080/z") == "/z");
    CHECK(path("http://a.example/x", "http://a.example") == "/x");
    CHECK(path("http://a.example:80/x", "http://a.example") == "/x");
    CHECK(path("https://a.example:443/x", "https://a.example") == "/x");
    for (const char* bad : {"", "http://a.example/x", "https://a.example:8080/x", "//b.example:8080/x",
                            "http://a.example:8080@evil/x", "http://user@a.example:8080/x", "/a b", "/a\x01", "/\\evil",
                            "javascript:alert(1)", "http://a.example:8080.evil/x"}) {
        CAPTURE(std::string(bad));
        CHECK(path(bad) == "none");
    }
    CHECK(path("/" + std::string(10000, 'x')) == "none");
}
