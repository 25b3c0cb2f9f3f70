// Clients that lose a stream and resume it.

#include "http/web.hpp"
#include "support/proof.hpp"

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;

namespace {

/// Id and content of each event. `after`: the last event that the client has, which a resumed stream may repeat.
lines shown(const seen_answer& a, const std::string& after = "") {
    lines out;
    for (const seen_event& e : a.events) {
        if (e.data.empty() && !after.empty() && e.id == after) continue;
        out.push_back(e.id + " " + (e.data.empty() ? "" : in_short(json::parse(e.data))));
    }
    return out;
}

lines joined(lines a, const lines& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

lines first(const lines& all, std::size_t k) { return lines(all.begin(), all.begin() + static_cast<long>(k)); }

/// A call that has sent `n` steps on its stream.
web_client& begin_call(web& w, const http_session& s, int n) {
    web_client& c = w.connect(s);
    c.send(s.call("1", "hold", R"({"at":"a"})", "\"t\""));
    for (int i = 1; i <= n; ++i) {
        w.on_loop([&w, i] { w.context_at("a").progress(i); });
    }
    return c;
}

}  // namespace

TEST_CASE("H9, LHTTP-20: a stream that breaks after any of its events can be resumed there") {
    constexpr int steps = 5;
    for (std::string version : {"2025-11-25", "2025-06-18", "2025-03-26"}) {
        INFO(version);
        bool primed = version == "2025-11-25";
        std::size_t all = steps + 1 + (primed ? 1 : 0);
        for (std::size_t k = 1; k <= all; ++k) {
            INFO("cut after event " << k);
            web w;
            http_session s = w.open_session(version);
            int before = static_cast<int>(k) - (primed ? 1 : 0);  // steps that it had sent when it was cut
            web_client& c = begin_call(w, s, std::min(before, steps));
            if (k == 1 && primed) w.advance(15s + w.tick());  // otherwise there is no stream yet
            if (k == all) w.open("a");
            lines got = shown(c.last());
            REQUIRE(got.size() == k);
            if (primed) CHECK(c.last().events[0].data.empty());
            std::string last = c.last().events.back().id;
            c.gone();
            // Some while no client is connected, the rest afterwards.
            for (int i = before + 1; i <= steps && i <= before + 2; ++i) {
                w.on_loop([&w, i] { w.context_at("a").progress(i); });
            }
            web_client& d = w.connect(s);
            d.send(s.get(last));
            CHECK(d.status() == 200);
            for (int i = before + 3; i <= steps; ++i) {
                w.on_loop([&w, i] { w.context_at("a").progress(i); });
            }
            if (k < all) w.open("a");
            CHECK(d.last().complete);
            lines whole = joined(got, shown(d.last(), last));
            CHECK(whole.size() == all);
            CHECK(whole.back().ends_with(" held a"));
            for (int i = 1; i <= steps; ++i) {
                CHECK(whole[static_cast<std::size_t>(i) - (primed ? 0 : 1)].ends_with("progress " + std::to_string(i)));
            }
            CHECK(std::set<std::string>(whole.begin(), whole.end()).size() == all);
            CHECK(w.at("a").cancelled == 0);
        }
    }
}

TEST_CASE("H9: an ended stream is replayed from any of its events, without events of other streams") {
    web w;
    http_session s = w.open_session();
    web_client& c = begin_call(w, s, 4);
    web_client& other = w.connect(s);
    other.send(s.call("2", "talk", R"({"at":"b"})", "\"u\""));
    w.on_loop([&w] { w.context_at("a").progress(5); });
    w.open("b");
    w.open("a");
    lines all = shown(c.last());
    REQUIRE(all.size() == 7);
    CHECK(other.said_all() == lines{"progress 1", "progress 2", "talked"});
    for (std::size_t k = 1; k <= all.size(); ++k) {
        web_client& d = w.connect(s);
        d.send(s.get(c.last().events[k - 1].id));
        CHECK(joined(first(all, k), shown(d.last(), c.last().events[k - 1].id)) == all);
        CHECK(d.last().complete);
        d.send(s.call("9", "echo", R"({"at":"goes on"})"));
        CHECK(d.said() == "goes on");
    }
}

TEST_CASE("H9, H6: a stream that breaks at any byte loses no event") {
    web w;
    std::size_t size = 0;
    {
        http_session s = w.open_session();
        web_client& c = w.connect(s);
        c.send(s.call("1", "talk", R"({"at":"dry"})", "\"t\""));
        w.open("dry");
        size = c.wire->bytes_taken();
        CHECK(c.last().complete);
    }
    for (std::size_t n = 0; n <= size; n += 3) {
        INFO("cut after " << n << " bytes");
        http_session s = w.open_session();
        web_client& c = w.connect(s);
        c.wire->fail_write_after(n, 32);
        std::string place = "p" + std::to_string(n);
        c.send(s.call("1", "talk", R"({"at":")" + place + R"("})", "\"t\""));
        w.open(place);
        CHECK(w.at(place).cancelled == 0);
        CHECK(w.handlers.here() == 0);
        CHECK(c.wire->destroyed() == (n < size));
        seen_answer got = c.last();
        if (got.events.empty()) continue;  // nothing to resume from
        web_client& d = w.connect(s);
        d.send(s.get(got.events.back().id));
        CHECK(d.last().complete);
        lines whole = joined(shown(got), shown(d.last(), got.events.back().id));
        REQUIRE(whole.size() == 4);
        CHECK(whole.back().ends_with(" talked"));
        CHECK(w.ask(s, s.end()) == 200);
    }
}

TEST_CASE("H10: messages sent during a resume arrive once, after the missed events") {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        INFO("seed " << seed);
        web_settings how;
        how.seed = seed;
        web w(how);
        http_session s = w.open_session();
        web_client& c = begin_call(w, s, 2);
        std::string last = c.last().events.back().id;
        c.gone();
        w.on_loop([&w] { w.context_at("a").progress(3); });
        web_client& d = w.connect(s);
        std::string request = s.get(last);
        d.expect(request);
        // The request arrives in two pieces, with events before, between and after: the loop chooses the order.
        d.wire->feed(request.substr(0, 30));
        w.loop->post([&w] { w.context_at("a").progress(4); });
        d.wire->feed(request.substr(30));
        w.loop->post([&w] { w.context_at("a").progress(5); });
        w.loop->post([&w] { w.context_at("a").progress(6); });
        w.run();
        w.open("a");
        lines got = d.said_all();
        // Progress must increase: a shuffle may drop some of 4, 5, 6; the others arrive in order and once.
        REQUIRE(got.size() >= 3);
        CHECK(got.front() == "progress 3");
        CHECK(got.back() == "held a");
        CHECK(std::is_sorted(got.begin(), got.end() - 1));
        CHECK(std::set<std::string>(got.begin(), got.end()).size() == got.size());
        CHECK(d.last().complete);
    }
}

TEST_CASE("H11: a resume replaces a connection that is still open") {
    web w;
    http_session s = w.open_session();
    SUBCASE("the stream of a call") {
        web_client& old = begin_call(w, s, 1);
        std::string last = old.last().events.front().id;
        old.wire->stall();
        w.on_loop([&w] { w.context_at("a").progress(2); });
        web_client& d = w.connect(s);
        d.send(s.get(last));
        CHECK(d.said_all() == lines{"progress 1", "progress 2"});
        w.on_loop([&w] { w.context_at("a").progress(3); });
        CHECK(d.said() == "progress 3");
        w.open("a");
        CHECK(d.said() == "held a");
        // The old connection is closed, and what it had not written is dropped.
        CHECK(old.wire->destroyed());
        CHECK(old.said_all() == lines{"progress 1"});
    }
    SUBCASE("the GET stream") {
        web_client& old = w.connect(s);
        old.send(s.get());
        web_client& d = w.connect(s);
        d.send(s.get(old.last().events.front().id));
        CHECK(d.status() == 200);
        CHECK(old.wire->destroyed());
        w.host->add_tool("one-more", "", [] { return "x"; }, {.quick = true});
        w.advance(100ms);
        CHECK(d.said_all() == lines{"notifications/tools/list_changed"});
        CHECK(old.said_all().empty());
    }
    CHECK(w.streams() <= 1);
}

TEST_CASE("H11, J5: a client that resumes again and again without reading does not multiply memory") {
    web w;
    http_session s = w.open_session();
    web_client& c = w.connect(s);
    c.send(s.call("1", "hold", R"({"at":"a"})", "\"t\""));
    const std::string large(200'000, 'x');
    for (int i = 1; i <= 20; ++i) {
        w.on_loop([&, i] { w.context_at("a").progress(i, std::nullopt, large); });
    }
    const std::string first = c.last().events.front().id;
    c.gone();
    web_client* last = nullptr;
    for (int i = 0; i < 10; ++i) {
        web_client& d = w.connect(s);
        d.wire->stall();
        d.send(s.get(first));
        if (last) CHECK(last->wire->destroyed());
        last = &d;
        CHECK(w.core->budget.used() < 6'000'000);  // the log of 4 MB, and one window
    }
    SUBCASE("and it gets everything once it reads, in order") {
        w.on_loop([&] { w.context_at("a").progress(21); });
        w.open("a");
        last->wire->resume();
        w.run();
        lines got = last->said_all();
        REQUIRE(got.size() == 22);
        for (int i = 1; i <= 21; ++i) CHECK(got[static_cast<std::size_t>(i) - 1] == "progress " + std::to_string(i));
        CHECK(got.back() == "held a");
        CHECK(last->last().complete);
    }
    SUBCASE("and it is disconnected if the events are evicted before it reads them") {
        for (int i = 21; i <= 80; ++i) {
            w.on_loop([&, i] { w.context_at("a").progress(i, std::nullopt, large); });
        }
        last->wire->resume();
        w.run();
        CHECK(last->wire->destroyed());
        CHECK(w.ask(s, s.get(first)) == 400);
        w.open("a");
    }
}

TEST_CASE("J5, H16: evicted events cannot be resumed, and the client gets an error") {
    web_settings how;
    SUBCASE("by number") { how.http.limits.max_events = 4; }
    SUBCASE("by bytes") { how.http.limits.max_event_bytes = 900; }
    web w(how);
    http_session s = w.open_session();
    web_client& c = begin_call(w, s, 12);
    std::vector<seen_event> events = c.last().events;
    REQUIRE(events.size() == 13);
    c.gone();
    // From the last event to the first: at first all can be replayed, then none.
    bool evicted = false;
    std::size_t available = 0;
    for (std::size_t i = events.size(); i-- > 0;) {
        web_client& d = w.connect(s);
        d.send(s.get(events[i].id));
        if (d.status() == 200) {
            CHECK(!evicted);
            CHECK(shown(d.last(), events[i].id).size() == events.size() - 1 - i);
            ++available;
        } else {
            CHECK(d.status() == 400);
            CHECK(d.said().find("Last-Event-ID") != std::string::npos);
            evicted = true;
        }
        d.gone();
    }
    CHECK(evicted);
    CHECK(available >= 3);
    CHECK(available <= 8);
    CHECK(w.at("a").cancelled == 0);
    CHECK(w.ask(s, s.call("9", "echo")) == 200);
    w.open("a");
}

TEST_CASE("J5: an ended stream can be resumed for a minute") {
    web w;
    http_session s = w.open_session();
    web_client& c = begin_call(w, s, 2);
    w.open("a");
    std::string from = c.last().events.front().id;
    std::string end = c.last().events.back().id;
    w.advance(60s - 2 * w.tick());
    web_client& d = w.connect(s);
    d.send(s.get(from));
    CHECK(d.said() == "held a");
    w.advance(4 * w.tick());
    CHECK(w.ask(s, s.get(from)) == 400);
    CHECK(w.ask(s, s.get(end)) == 400);
    CHECK(w.ask(s, s.call("9", "echo")) == 200);
}

TEST_CASE("H16: an unknown event id is refused, and the session continues") {
    web w;
    http_session s = w.open_session();
    http_session other = w.open_session();
    web_client& c = begin_call(w, s, 1);
    std::string known = c.last().events.back().id;
    c.gone();
    for (std::string id :
         {std::string("x"), std::string("-"), std::string("1-"), std::string("-1"), std::string("1-1-1"),
          std::string("01-2"), std::string("+1-2"), std::string("1-999"), std::string("999-1"),
          std::string("18446744073709551616-1"), std::string("1 -2"), "x" + known, known + "x"}) {
        INFO(id);
        CHECK(w.ask(s, s.get(id)) == 400);
    }
    CHECK(w.ask(other, other.get(known)) == 400);
    web_client& d = w.connect(s);
    d.send(s.get(known));
    CHECK(d.status() == 200);
    w.open("a");
    CHECK(d.said() == "held a");
}
