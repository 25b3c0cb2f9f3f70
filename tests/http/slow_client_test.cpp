// Clients that send slowly, read slowly, or are idle.

#include "http/web.hpp"
#include "support/proof.hpp"

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;

TEST_CASE("J4: a request that does not arrive in time is refused, wherever it stalls") {
    web w;
    http_session s = w.open_session();
    std::string request = s.call("1", "hold", R"({"at":"never"})");
    std::size_t body = request.find("\r\n\r\n") + 4;
    for (std::size_t cut = 0; cut < request.size(); ++cut) {
        INFO("stopped after " << cut << " bytes");
        web_client& c = w.connect();
        if (cut > 0) c.feed(request.substr(0, cut));
        duration allowed = cut < body ? 10s : 30s;
        w.advance(allowed - w.tick());
        CHECK(!c.wire->closed());
        CHECK(c.wire->bytes_taken() == 0);
        w.advance(3 * w.tick());
        CHECK(c.wire->destroyed());
        // A client that has sent nothing gets no response.
        if (cut == 0) CHECK(c.wire->bytes_taken() == 0);
        else CHECK(c.status() == 408);
        if (cut > 0) CHECK(c.last().header("connection") == "close");
        w.forget_clients();
    }
    CHECK(w.at("never").came == 0);
    CHECK(w.in_flight() == 0);
}

TEST_CASE("J4: single bytes do not extend the timeout of a request") {
    web w;
    http_session s = w.open_session();
    std::string request = s.call("1", "echo", R"({"at":"x"})");
    std::size_t body = request.find("\r\n\r\n") + 4;
    SUBCASE("in the head") {
        web_client& c = w.connect(s);
        std::size_t sent = 0;
        for (; sent < body && !c.wire->closed(); ++sent) {
            c.feed(request.substr(sent, 1));
            w.advance(1s);
        }
        CHECK(c.status() == 408);
        CHECK(sent <= 13);
    }
    SUBCASE("in the body") {
        web_client& c = w.connect(s);
        c.feed(request.substr(0, body));
        std::size_t sent = body;
        for (; sent < request.size() && !c.wire->closed(); ++sent) {
            c.feed(request.substr(sent, 1));
            w.advance(1s);
        }
        CHECK(c.status() == 408);
        CHECK(sent - body <= 33);
    }
    SUBCASE("slow, but within the timeout") {
        web_client& c = w.connect(s);
        c.expect(request);
        std::size_t piece = body / 9 + 1;
        for (std::size_t at = 0; at < request.size(); at += piece) {
            c.feed(request.substr(at, piece));
            w.advance(900ms);
        }
        CHECK(c.said() == "x");
    }
    CHECK(w.handlers.here() == 0);
}

TEST_CASE("J4: the timeouts of a second request begin with its first byte") {
    web w;
    web_client& c = w.connect();
    std::string request = modern_call("1", "echo", R"({"at":"one"})");
    c.send(request);
    CHECK(c.said() == "one");
    w.advance(60s);
    CHECK(!c.wire->closed());
    c.expect(request);
    c.feed(request.substr(0, 20));
    w.advance(8s);
    c.feed(request.substr(20));
    w.run();
    CHECK(c.answers() == 2);
    w.advance(75s - 2 * w.tick());
    CHECK(!c.wire->closed());
    w.advance(4 * w.tick());
    CHECK(c.wire->destroyed());
    CHECK(c.answers() == 2);
}

TEST_CASE("J4: pipelined requests, and requests that wait for 100 Continue, have the same timeouts") {
    web w;
    std::string request = modern_call("1", "echo", R"({"at":"one"})");
    std::size_t body = request.find("\r\n\r\n") + 4;
    SUBCASE("in the head of the second request") {
        web_client& c = w.connect();
        c.expect(request);
        c.feed(request + request.substr(0, 20));
        w.run();
        CHECK(c.answers() == 1);
        w.advance(10s + 2 * w.tick());
        CHECK(c.status() == 408);
    }
    SUBCASE("in the body of the second request") {
        web_client& c = w.connect();
        c.expect(request);
        c.feed(request + request.substr(0, body + 1));
        w.run();
        w.advance(30s + 2 * w.tick());
        CHECK(c.status() == 408);
    }
    SUBCASE("in a body after 100 Continue") {
        web_client& c = w.connect();
        std::string polite = request.substr(0, body - 2) + "Expect: 100-continue\r\n\r\n";
        c.feed(polite);
        w.run();
        CHECK(c.look().continues == 1);
        w.advance(30s + 2 * w.tick());
        CHECK(c.status() == 408);
    }
}

TEST_CASE("J1, C11: a slow reader gets the whole of a long answer") {
    constexpr int size = 400000;
    web w;
    http_session s = w.open_session();
    web_client& c = w.connect();
    web_client& d = w.connect(s);
    std::string arguments = R"({"n":)" + std::to_string(size) + "}";
    c.wire->stall();
    d.wire->stall();
    c.send(modern_call("1", "big", arguments));
    d.send(s.call("1", "big", arguments));
    // A piece every ten seconds is not a stall, but the total time exceeds the idle timeout.
    for (int i = 0; i < 21; ++i) {
        w.advance(10s);
        c.wire->accept(20000);
        d.wire->accept(20000);
        w.run();
    }
    CHECK(c.last().complete);
    CHECK(c.said().size() == size);
    CHECK(d.last().complete);
    CHECK(d.said().size() == size);
    c.wire->resume();
    d.wire->resume();
    c.send(modern_call("2", "echo", R"({"at":"next"})"));
    CHECK(c.said() == "next");
}

TEST_CASE("C11, I2: a write stall cancels the call of a 2026-07-28 client") {
    web w;
    web_client& c = w.connect();
    web_client& other = w.connect();
    c.wire->stall();
    c.send(modern_call("1", "talk", R"({"at":"a"})", "\"t\""));
    other.send(modern_call("1", "talk", R"({"at":"a"})", "\"t\""));
    CHECK(w.at("a").came == 2);
    w.advance(30s - w.tick());
    CHECK(w.at("a").cancelled == 0);
    w.advance(3 * w.tick());
    CHECK(w.at("a").cancelled == 1);
    CHECK(c.wire->destroyed());
    CHECK(w.streams() == 1);
    w.open("a");
    CHECK(other.said() == "talked");
}

TEST_CASE("C11, H6: a write stall of a legacy client ends the stream, not the call") {
    web w;
    http_session s = w.open_session();
    web_client& c = w.connect(s);
    c.send(s.call("1", "talk", R"({"at":"a"})", "\"t\""));
    std::string last = c.last().events.back().id;
    c.wire->stall();
    w.on_loop([&w] { w.context_at("a").progress(1.5); });
    w.advance(30s + 2 * w.tick());
    CHECK(c.wire->destroyed());
    CHECK(w.streams() == 0);
    CHECK(w.at("a").cancelled == 0);
    w.open("a");
    web_client& d = w.connect(s);
    d.send(s.get(last));
    CHECK(d.said_all() == lines{"progress 1.5", "progress 2", "talked"});
    CHECK(d.last().complete);
}

TEST_CASE("C11: the connection of a client that never reads its answer is closed") {
    web w;
    http_session s = w.open_session();
    for (bool modern : {true, false}) {
        web_client& c = w.connect(s);
        c.wire->accept(5);
        c.send(modern ? modern_call("1", "echo") : s.call("1", "echo"));
        w.advance(30s + 2 * w.tick());
        CHECK(c.wire->destroyed());
        CHECK(c.wire->bytes_taken() == 5);
    }
}

TEST_CASE("J4: a body may take longer than body_time if it arrives at the minimum rate, and not if it is slower") {
    web w;
    http_session s = w.open_session();
    const std::string request = s.call("1", "echo", R"({"at":"x"})" + std::string(100'000, ' '));
    const std::size_t body = request.find("\r\n\r\n") + 4;
    // 100 KB: 50 seconds at twice the rate, 200 seconds at half of it.
    for (std::size_t rate : {2048u, 512u}) {
        CAPTURE(rate);
        web_client& c = w.connect(s);
        c.expect(request);
        c.wire->feed(request.substr(0, body));
        for (std::size_t at = body; at < request.size() && !c.wire->closed(); at += rate) {
            c.wire->feed(request.substr(at, rate));
            w.advance(1s);
        }
        CHECK(c.status() == (rate > 1024 ? 200 : 408));
    }
}

TEST_CASE("C11: a reader that is slower than the minimum rate is disconnected although it always reads something") {
    web w;
    web_client& c = w.connect();
    c.wire->stall();
    c.send(modern_call("1", "big", R"({"n":400000})"));
    int seconds = 0;
    for (; seconds < 100 && !c.wire->closed(); ++seconds) {
        c.wire->accept(100);
        w.advance(1s);
    }
    CHECK(c.wire->closed());
    CHECK(seconds <= 40);  // write_stall, and the time that its bytes have earned
}
