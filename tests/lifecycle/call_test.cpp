// Lifecycle rules D over a peer in the role of a client: requests that we send.

#include "support/harness.hpp"

#include <cerrno>

using namespace keel;
using namespace keel::test;

namespace {

std::string id_of(const std::string& frame) { return json::to_string(json::parse(frame)["id"]); }

/// The ids in the cancel notifications that were sent.
lines cancels(tap& t) {
    lines ids;
    for (const json::value& v : t.with_method("notifications/cancelled"))
        ids.push_back(json::to_string(v["params"]["requestId"]));
    return ids;
}

}  // namespace

TEST_CASE("D1: when the connection ends every call fails once, with the cause, before on_closed") {
    peer_under_test c(rpc::role::client);
    std::vector<peer_under_test::asked*> all;
    for (int i = 0; i < 100; ++i) all.push_back(&c.ask("tools/call"));
    std::string expected = "connection closed: connection closed";
    c.events.clear();
    SUBCASE("end of input") { c.eof(), expected = "connection closed: connection closed"; }
    SUBCASE("read error") {
        c.wire->fail_read(ECONNRESET);
        c.loop->run();
        expected += std::string(": ") + std::strerror(ECONNRESET);
    }
    SUBCASE("close") { c.close(); }
    for (auto* a : all) {
        CHECK(a->settled == 1);
        CHECK(a->outcome == expected);
    }
    REQUIRE(c.events.size() == 101);
    CHECK(c.events.back() == "closed");
}

TEST_CASE("D1: a call made when another one fails is refused at once") {
    peer_under_test c(rpc::role::client);
    std::string second;
    detail::activity line(*c.loop);
    auto stubborn = [&]() -> task<void> {
        for (int i = 0; i < 2; ++i) {
            try {
                rpc::peer::call_options_with_progress how;
                co_await rpc::peer::ask(c.peer, nullptr, "tools/list", json::value(), how);
            } catch (const error& e) {
                second = name_of(e.kind());
            }
        }
    };
    bool done = false;
    c.on_loop([&] { detail::start(line, stubborn(), [&](detail::outcome<void>) { done = true; }); });
    CHECK_FALSE(done);
    c.wire->hangup();
    c.loop->run();
    CHECK(done);
    CHECK(second == "connection closed");
    CHECK(c.seen.take().size() == 1);
}

TEST_CASE("D6: a call of a task that was cancelled before ends at once and writes nothing") {
    peer_under_test c(rpc::role::client);
    detail::activity line(*c.loop);
    bool was_cancelled = false;
    auto late = [&]() -> task<void> {
        line.stop();
        try {
            rpc::peer::call_options_with_progress how;
            co_await rpc::peer::ask(c.peer, nullptr, "tools/list", json::value(), how);
        } catch (const cancelled&) {
            was_cancelled = true;
        }
    };
    bool done = false;
    c.on_loop([&] { detail::start(line, late(), [&](detail::outcome<void>) { done = true; }); });
    CHECK(done);
    CHECK(was_cancelled);
    CHECK(c.seen.take().empty());
}

TEST_CASE("D3: a request after the end fails at once and writes nothing") {
    peer_under_test c(rpc::role::client);
    c.close();
    auto& a = c.ask("tools/list");
    CHECK(a.outcome == "connection closed: connection closed");
    CHECK(c.seen.take().empty());
}

TEST_CASE("D4, D8: a call that times out fails with timed_out, the peer gets a cancel, a late answer is dropped") {
    peer_under_test c(rpc::role::client);
    rpc::peer::call_options_with_progress options;
    options.idle = 5s;
    auto& a = c.ask("tools/call", {}, options);
    auto& other = c.ask("tools/call");
    auto sent = c.seen.take();
    REQUIRE(sent.size() == 2);
    c.advance(5s - 1ms);
    CHECK(a.outcome.empty());
    c.advance(1ms);
    CHECK(a.outcome == "timed out: no answer or progress within 5 s");
    CHECK(cancels(c.seen) == lines{id_of(sent[0])});
    std::size_t events = c.events.size();
    c.send(result_line(id_of(sent[0]), R"({"late":true})"));
    CHECK(c.events.size() == events);
    CHECK(c.peer->core().count().unmatched_responses == 1);
    c.send(result_line(id_of(sent[1]), R"({"v":1})"));
    CHECK(other.outcome == R"({"v":1})");
}

TEST_CASE("B10, D5: no cancel is sent for an abandoned initialize") {
    peer_under_test c(rpc::role::client);
    auto& timed = c.ask("initialize", json::object({{"protocolVersion", "2025-11-25"}}));
    auto& given_up = c.ask("initialize", json::object({{"protocolVersion", "2025-11-25"}}));
    c.abandon(given_up);
    CHECK(given_up.outcome == "cancelled");
    c.advance(60s);
    CHECK(timed.outcome == "timed out: no answer or progress within 60 s");
    CHECK(c.seen.take().size() == 2);
}

TEST_CASE("D6: a call that is cancelled before its write has started sends nothing") {
    peer_under_test c(rpc::role::client);
    c.wire->stall();
    auto& a = c.ask("tools/call");
    rpc::peer::call_options_with_progress short_one;
    short_one.idle = 1s;
    auto& timed = c.ask("tools/call", {}, short_one);
    auto& kept = c.ask("tools/list");
    c.abandon(a);
    CHECK(a.outcome == "cancelled");
    c.advance(1s);
    CHECK(timed.outcome == "timed out: no answer or progress within 1 s");
    c.wire->resume();
    c.loop->run();
    auto frames = c.seen.take();
    REQUIRE(frames.size() == 1);
    CHECK(json::parse(frames[0])["method"].if_string() == "tools/list");
    c.send(result_line(id_of(frames[0])));
    CHECK(kept.outcome == "{}");
}

TEST_CASE(
    "D7: a call that is abandoned after its write has started sends one cancel, and the caller does not wait for "
    "that") {
    for (std::size_t taken : {1U, 20U, 10'000U}) {
        CAPTURE(taken);
        peer_under_test c(rpc::role::client);
        c.wire->accept(taken);
        auto& a = c.ask("tools/call");
        c.wire->stall();
        c.loop->post([&] { a.line.stop(); });
        REQUIRE(c.loop->step());
        CHECK(a.outcome == "cancelled");  // the writer is still stalled
        c.wire->resume();
        c.loop->run();
        auto frames = c.seen.take();
        REQUIRE(frames.size() == 2);
        CHECK(cancels(c.seen) == lines{id_of(frames[0])});
        c.abandon(a);  // idempotent
        CHECK(c.seen.take().empty());
    }
}

TEST_CASE("D12: progress extends the timeout of a call, but not forever") {
    peer_under_test c(rpc::role::client);
    int reported = 0;
    rpc::peer::call_options_with_progress options;
    options.on_progress = [&](const json::value&) { ++reported; };
    auto& a = c.ask("tools/call", {}, options);
    auto frames = c.seen.take();
    REQUIRE(frames.size() == 1);
    std::string token = json::to_string(json::parse(frames[0])["params"]["_meta"]["progressToken"]);
    int n = 0;
    for (duration passed{}; passed + 59s < 30min; passed += 59s) {
        c.advance(59s);
        REQUIRE(a.outcome.empty());
        c.send(progress_line(token, std::to_string(++n)));
    }
    CHECK(reported == n);
    c.advance(59s);
    CHECK(a.outcome == "timed out: no answer within 30 min");
    CHECK(cancels(c.seen) == lines{id_of(frames[0])});
    c.send(progress_line(token, std::to_string(++n)));
    CHECK(reported == n - 1);
}

TEST_CASE("D12: a progress token is sent even without a callback, so that progress can extend the timeout") {
    peer_under_test c(rpc::role::client);
    auto& a = c.ask("tools/call");
    std::string frame = c.seen.take().at(0);
    c.advance(59s);
    c.send(progress_line(json::to_string(json::parse(frame)["params"]["_meta"]["progressToken"]), "1"));
    c.advance(59s);
    CHECK(a.outcome.empty());
    c.send(result_line(id_of(frame)));
    CHECK(a.outcome == "{}");
}

TEST_CASE("D13, D16: progress and answer in one read: callbacks first, in order, and one that throws is contained") {
    peer_under_test c(rpc::role::client);
    rpc::peer::call_options_with_progress options;
    options.on_progress = [&](const json::value& p) {
        std::int64_t n = p["progress"].as_int();
        c.events.push_back("progress " + std::to_string(n));
        if (n == 1) throw std::runtime_error("a callback failed");
        if (n == 2) throw 42;
    };
    auto& a = c.ask("tools/call", {}, options);
    std::string id = id_of(c.seen.take().at(0));
    c.events.clear();
    c.later_bytes(progress_line(id, "1") + "\n" + progress_line(id, "2") + "\n" + progress_line(id, "3") + "\n" +
                  result_line(id, R"({"v":1})") + "\n");
    c.loop->run();
    CHECK(a.outcome == R"({"v":1})");
    lines without_reports;
    for (const std::string& e : c.events) {
        if (!e.starts_with("report")) without_reports.push_back(e);
    }
    CHECK(without_reports == lines{"progress 1", "progress 2", "progress 3", "settled tools/call"});
    CHECK(c.events.size() == 6);
}

TEST_CASE("D16: a progress callback can cancel its own call") {
    peer_under_test c(rpc::role::client);
    rpc::peer::call_options_with_progress options;
    peer_under_test::asked* mine = nullptr;
    std::string text = "captured, and looked at again after the call has gone: longer than a small string";
    std::size_t seen = 0;
    options.on_progress = [&mine, &seen, text](const json::value&) {
        mine->line.stop();
        seen = text.size();
    };
    mine = &c.ask("tools/call", {}, options);
    std::string id = id_of(c.seen.take().at(0));
    c.later_bytes(progress_line(id, "1") + "\n" + progress_line(id, "2") + "\n" + result_line(id) + "\n");
    c.loop->run();
    CHECK(mine->outcome == "cancelled");
    CHECK(seen == text.size());
    CHECK(cancels(c.seen) == lines{id});
}

TEST_CASE("D17: the first of answer and cancel decides, and the other is discarded") {
    SUBCASE("the answer") {
        peer_under_test c(rpc::role::client);
        auto& a = c.ask("tools/call");
        std::string id = id_of(c.seen.take().at(0));
        c.later(result_line(id));
        c.loop->post([&] { a.line.stop(); });
        c.loop->run();
        CHECK(a.outcome == "{}");
        CHECK(c.seen.take().empty());
    }
    SUBCASE("the cancel") {
        peer_under_test c(rpc::role::client);
        auto& a = c.ask("tools/call");
        std::string id = id_of(c.seen.take().at(0));
        c.wire->accept(3);
        c.loop->post([&] { a.line.stop(); });
        c.later(result_line(id));
        c.loop->run();
        CHECK(a.outcome == "cancelled");
        c.wire->resume();
        c.loop->run();
        CHECK(c.seen.take().size() == 1);
    }
    SUBCASE("any order") {
        for (std::uint64_t seed = 1; seed <= 32; ++seed) {
            CAPTURE(seed);
            peer_under_test c(rpc::role::client, {}, seed);
            auto& a = c.ask("tools/call");
            std::string id = id_of(c.seen.take().at(0));
            c.later(result_line(id));
            c.loop->post([&] { a.line.stop(); });
            c.loop->run();
            CHECK(a.settled == 1);
            CHECK(cancels(c.seen).size() == (a.outcome == "cancelled" ? 1 : 0));
        }
    }
}

TEST_CASE("D4: the error of a question that the client does not answer names the method and the limit") {
    server_under_test s;
    std::string why;
    s.tool("ask", [&](context& ctx) -> task<std::string> {
        head_count::presence here(s.handlers);
        try {
            json::value none;
            co_await ctx.request("roots/list", none, 5s);
        } catch (const error& e) {
            why = std::string(name_of(e.kind())) + ": " + e.what();
        }
        co_return "";
    });
    s.start("2025-11-25");
    s.call("1", "ask");
    s.advance(5s - 1ms);
    CHECK(why.empty());
    s.advance(1ms);
    CHECK(why == "timed out: roots/list: no answer or progress within 5 s");
}
