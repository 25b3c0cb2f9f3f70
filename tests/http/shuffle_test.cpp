// Everything that can end a call at the same time, in every order and with many orders of the loop's turns.

#include "http/web.hpp"
#include "support/proof.hpp"

#include <algorithm>
#include <numeric>

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t seeds = 200;

std::string shuffled_place(const std::string& place) { return R"({"at":")" + place + R"("})"; }

/// All messages that a client received in answer to request `id`.
std::size_t answers_to(const web_client& c, std::string_view id) {
    std::size_t n = 0;
    for (const seen_answer& a : c.look().answers) {
        for (const std::string& text : a.messages()) {
            json::value m = json::parse(text);
            if (!m.contains("method") && json::to_string(m["id"]) == id) ++n;
        }
    }
    return n;
}

}  // namespace

TEST_CASE("A1, H3, H6, B18, G5: five simultaneous ends of a legacy call lead to at most one answer") {
    std::vector<int> order = {0, 1, 2, 3, 4};
    std::size_t outcomes[3] = {};
    std::uint64_t seed = 0;
    for (int round = 0; round < 240; ++round) {
        seed = seed % seeds + 1;
        for (std::string tool : {"hold", "talk"}) {
            INFO("seed " << seed << " round " << round << " " << tool);
            web_settings how;
            how.seed = seed;
            web w(how);
            http_session s = w.open_session();
            web_client& c = w.connect(s);
            web_client& cancels = w.connect(s);
            web_client& ends = w.connect(s);
            c.send(s.call("1", tool, shuffled_place("a"), "\"t\""));
            REQUIRE(w.at("a").came == 1);
            for (int what : order) {
                switch (what) {
                    case 0: w.loop->post([&w] { w.at("a").g.open(); }); break;
                    case 1: cancels.later(s.post(cancel_line("1"))); break;
                    case 2: ends.later(s.end()); break;
                    case 3: c.wire->fail_read(104); break;
                    case 4: w.loop->post([&w] { w.core->stop({}); }); break;
                }
                // Some of them together, some one after the other.
                if ((seed + static_cast<std::uint64_t>(what)) % 3 == 0) w.run();
            }
            w.run();
            std::size_t n = answers_to(c, "1");
            CHECK(n <= 1);
            ++outcomes[n];
            CHECK(w.handlers.here() == 0);
            CHECK(w.in_flight() == 0);
            CHECK(w.sessions() == 0);
        }
        std::next_permutation(order.begin(), order.end());
    }
    // Both outcomes occurred, otherwise this test proves nothing.
    CHECK(outcomes[0] > 20);
    CHECK(outcomes[1] > 20);
}

TEST_CASE(
    "A1, I2, G5: three simultaneous ends of a 2026-07-28 call lead to at most one answer, and do not affect another") {
    std::vector<int> order = {0, 1, 2};
    std::size_t outcomes[3] = {};
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        for (std::string tool : {"hold", "talk"}) {
            for (int stop_or_not = 0; stop_or_not < 2; ++stop_or_not) {
                INFO("seed " << seed << " " << tool);
                web_settings how;
                how.seed = seed;
                web w(how);
                web_client& c = w.connect();
                web_client& other = w.connect();
                c.send(modern_call("1", tool, shuffled_place("a"), "\"t\""));
                other.send(modern_call("1", tool, shuffled_place("b"), "\"t\""));
                for (int what : order) {
                    switch (what) {
                        case 0: w.loop->post([&w] { w.at("a").g.open(); }); break;
                        case 1:
                            if (seed % 2 == 0) c.wire->eof();
                            else c.wire->hangup();
                            break;
                        case 2:
                            if (stop_or_not == 1) w.loop->post([&w] { w.core->stop({}); });
                            else c.wire->fail_write_after(seed % 90, 32);
                            break;
                    }
                }
                w.run();
                std::size_t n = answers_to(c, "1");
                CHECK(n <= 1);
                ++outcomes[n];
                CHECK(c.wire->destroyed());
                if (stop_or_not == 0) w.open("b");
                CHECK(answers_to(other, "1") == 1);
                CHECK(w.handlers.here() == 0);
                CHECK(w.in_flight() == 0);
            }
        }
        std::next_permutation(order.begin(), order.end());
    }
    CHECK(outcomes[0] > 20);
    CHECK(outcomes[1] > 20);
}

TEST_CASE("A9, B19: a cancelled id can be used again while its first handler still runs") {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        INFO("seed " << seed);
        web_settings how;
        how.seed = seed;
        web w(how);
        http_session s = w.open_session();
        web_client& first = w.connect(s);
        first.send(s.call("5", "tidy", shuffled_place("a")));
        CHECK(w.ask(s, s.post(cancel_line("5"))) == 202);
        web_client& second = w.connect(s);
        second.later(s.call("5", "hold", shuffled_place("b")));
        w.loop->post([&w] { w.at("tidying").g.open(); });
        w.run();
        CHECK(w.at("b").cancelled == 0);
        CHECK(second.answers() == 0);
        w.open("b");
        CHECK(first.said() == "error -32800 request cancelled");
        CHECK(second.said() == "held b");
    }
}

TEST_CASE("A7: a duplicate id in flight is refused, in either order") {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        INFO("seed " << seed);
        web_settings how;
        how.seed = seed;
        web w(how);
        http_session s = w.open_session();
        web_client& a = w.connect(s);
        web_client& b = w.connect(s);
        a.later(s.call("5", "hold", shuffled_place("a")));
        b.later(s.call("5", "hold", shuffled_place("a")));
        w.run();
        CHECK(w.at("a").came == 1);
        w.open("a");
        web_client& winner = a.status() == 200 ? a : b;
        web_client& loser = a.status() == 200 ? b : a;
        CHECK(winner.said() == "held a");
        CHECK(loser.status() == 400);
        CHECK(loser.last().body.find("\"id\"") == std::string::npos);
    }
}
