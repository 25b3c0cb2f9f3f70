// Streams of the older era that are resumed.

#include "link_under_test.hpp"

using namespace keel;
using namespace keel::test;
using http_client::transfer_failure;

namespace {

/// A call whose stream has sent an event with an id.
struct started {
    explicit started(link_under_test& t, std::string_view more = "") : call(t.ask("a")), post(t.on->requests.back()) {
        t.on->open_stream(*post);
        t.on->event(*post, "", "id: e-1\n" + std::string(more));
    }
    std::shared_ptr<asked> call;
    std::shared_ptr<seen_request> post;
};

}  // namespace

TEST_CASE("LHTTP-07, LHTTP-19: a stream is resumed by GET with Last-Event-ID, not before the retry time") {
    for (const char* version : legacy_versions) {
        for (bool graceful : {true, false}) {
            link_under_test t(legacy(version));
            t.shake_hands();
            started s(t, "retry: 500\n");
            if (graceful) t.on->end(*s.post);
            else t.on->fail(*s.post);
            t.loop->advance(499ms);
            CHECK(t.on->all("GET").empty());
            t.loop->advance(1ms);
            REQUIRE(t.on->all("GET").size() == 1);
            seen_request& get = t.on->last();
            CHECK(get.header("Last-Event-ID") == "e-1");
            CHECK(get.header("Accept") == "text/event-stream");  // LHTTP-02
            CHECK(get.header("Mcp-Session-Id") == "s-1");
            CHECK(get.header("MCP-Protocol-Version") == version);
            CHECK_FALSE(get.has("Content-Type"));
            t.on->open_stream(get);
            t.on->event(get, fake_wire::result_text(*s.post, R"({"late":true})"), "id: e-2\n");
            CHECK(s.call->outcome == R"({"late":true})");
            t.on->end(get);
        }
    }
}

TEST_CASE("LHTTP-07: without a retry time the delay is one second") {
    link_under_test t(legacy());
    t.shake_hands();
    started s(t);
    t.on->end(*s.post);
    t.loop->advance(999ms);
    CHECK(t.on->all("GET").empty());
    t.loop->advance(1ms);
    CHECK(t.on->all("GET").size() == 1);
    t.on->open_stream(t.on->last());
    t.on->event(t.on->last(), fake_wire::result_text(*s.post));
    CHECK(s.call->outcome == "{}");
}

TEST_CASE("LHTTP-07: a retry time of zero is respected, and a huge one does not overflow") {
    {
        link_under_test t(legacy());
        t.shake_hands();
        started s(t, "retry: 0\n");
        t.on->end(*s.post);
        t.loop->advance(0ms);
        CHECK(t.on->all("GET").size() == 1);
        t.on->open_stream(t.on->last());
        t.on->event(t.on->last(), fake_wire::result_text(*s.post));
    }
    link_under_test t(legacy());
    t.shake_hands();
    started s(t, "retry: 9223372036854775807\n");
    t.on->end(*s.post);
    t.loop->advance(59s);
    CHECK(t.on->all("GET").empty());
    t.loop->advance(1s);
    CHECK(s.call->outcome == "timed out");
}

TEST_CASE("LHTTP-19: a stream is resumed as often as it delivers events, and repeated events are harmless") {
    link_under_test t(legacy());
    t.shake_hands();
    started s(t, "retry: 100\n");
    std::string note = R"({"jsonrpc":"2.0","method":"notifications/message","params":{}})";
    seen_request* current = s.post.get();
    for (int i = 0; i < 20; ++i) {
        t.on->event(*current, note, "id: n" + std::to_string(i) + "\n");
        t.on->end(*current);
        t.loop->advance(100ms);
        REQUIRE(t.on->all("GET").size() == static_cast<std::size_t>(i) + 1);
        current = &t.on->last();
        CHECK(current->header("Last-Event-ID") == "n" + std::to_string(i));
        t.on->open_stream(*current);
    }
    CHECK(t.heard.size() == 20);
    t.on->event(*current, fake_wire::result_text(*s.post), "id: x\n");
    t.on->event(*current, fake_wire::result_text(*s.post), "id: x\n");
    CHECK(s.call->outcome == "{}");
    CHECK(s.call->ends == 1);
}

TEST_CASE("D2: without an event id a stream cannot be resumed, and the call fails immediately") {
    link_under_test t(legacy());
    t.shake_hands();
    auto call = t.ask("a");
    t.on->open_stream(t.on->last());
    t.on->event(t.on->last(), R"({"jsonrpc":"2.0","method":"notifications/message","params":{}})");
    t.on->end(t.on->last());
    CHECK(call->outcome == "stream lost");
}

TEST_CASE("D2: an event id that is invalid in a header is not used") {
    link_under_test t(legacy());
    t.shake_hands();
    auto call = t.ask("a");
    t.on->open_stream(t.on->last());
    t.on->event(t.on->last(), "", "id: a\x01z\n");
    t.on->end(t.on->last());
    CHECK(call->outcome == "stream lost");
}

TEST_CASE("D2: if the server rejects the resumption, the stream is lost") {
    for (int status : {400, 404, 405, 401, 302, 204}) {
        link_under_test t(legacy());
        t.shake_hands();
        started s(t);
        t.on->end(*s.post);
        t.loop->advance(1s);
        t.on->reply(t.on->last(), status, "", "");
        CHECK(s.call->outcome == "stream lost");
        CHECK(t.sessions_lost == 0);
    }
}

TEST_CASE("D2: attempts without events are limited, with growing delays") {
    link_under_test t(legacy());
    t.shake_hands();
    started s(t, "retry: 1000\n");
    t.on->end(*s.post);
    std::vector<duration> pauses;
    int attempt = 0;
    while (s.call->ends == 0) {
        REQUIRE(attempt < 10);
        time_point before = t.loop->now();
        std::size_t gets = t.on->all("GET").size();
        while (t.on->all("GET").size() == gets) t.loop->advance(100ms);
        pauses.push_back(t.loop->now() - before);
        seen_request& get = t.on->last();
        switch (attempt++ % 3) {
            case 0: t.on->fail(get, transfer_failure::not_sent, "refused"); break;
            case 1: t.on->reply(get, 503, "", "busy"); break;
            default:
                t.on->open_stream(get);
                t.on->end(get);
                break;
        }
    }
    CHECK(s.call->outcome == "stream lost");
    CHECK(pauses == std::vector<duration>{1s, 2s, 4s, 8s, 16s});
}

TEST_CASE("D13: a response on the stream of another request counts, and ends both waits in order") {
    link_under_test t(legacy());
    t.shake_hands();
    auto one = t.ask("one");
    seen_request& first = t.on->last();
    auto two = t.ask("two");
    seen_request& second = t.on->last();
    t.on->open_stream(first);
    t.on->open_stream(second);
    t.on->event(second, fake_wire::result_text(first, R"({"n":1})"));
    CHECK(one->outcome == R"({"n":1})");
    t.on->end(first);  // nothing is resumed, no second outcome
    t.on->event(second, fake_wire::result_text(second, R"({"n":2})"));
    CHECK(two->outcome == R"({"n":2})");
    t.loop->advance(10s);
    CHECK(t.on->all("GET").empty());
}

TEST_CASE("a batch on a stream of 2025-03-26 is read message by message") {
    link_under_test t(legacy("2025-03-26"));
    t.shake_hands();
    t.peer->core().allow_batches(true);
    auto call = t.ask("a");
    seen_request& post = t.on->last();
    t.on->open_stream(post);
    t.on->event(post, R"([{"jsonrpc":"2.0","method":"notifications/message","params":{}},)" +
                          fake_wire::result_text(post) + "]");
    CHECK(t.heard.size() == 1);
    CHECK(call->outcome == "{}");
}

TEST_CASE("LHTTP-07: at most ten consecutive delays are zero; a longer one resets the count") {
    http_client::reconnect_backoff pace;
    auto next = [&](std::chrono::milliseconds asked) {
        pace.event_received();
        return pace.next(asked);
    };
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 10; ++i) CHECK(next(0ms) == 0ms);
        for (int i = 0; i < 100; ++i) CHECK(next(0ms) > 0ms);
        CHECK(next(3s) == 3s);
    }
}
