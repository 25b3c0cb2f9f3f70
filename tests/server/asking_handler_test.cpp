// How a handler ends when it asks on 2026-07-28, and how its questions are cancelled.

#include "booking_server.hpp"

#include <doctest/doctest.h>

namespace keel::test {

TEST_CASE("a handler that is ended by its question finishes its cleanup before the result is sent (B15, F7)") {
    server_under_test s;
    std::vector<std::string> order;
    s.tool("careful", [&](context& ctx) -> task<std::string> {
        bool ended = false;
        try {
            auto g = co_await ctx.elicit<guest>("g", "Who?");
            co_return g->name;
        } catch (const cancelled&) {
            ended = true;
        }
        order.push_back("cleaning");
        co_await ctx.sleep(100ms);
        order.push_back("clean");
        co_return ended ? "not what the client gets" : "";
    });
    s.start();
    s.send(request_line("1", "tools/call", R"({"name":"careful",)" + modern_meta_with(all_capabilities) + "}"));
    CHECK(order == std::vector<std::string>{"cleaning"});
    CHECK(s.answers_to("1") == 0);
    s.advance(100ms);
    CHECK(order == std::vector<std::string>{"cleaning", "clean"});
    CHECK(asked_keys(s.seen.answer_message("1")) == std::set<std::string>{"g"});
}

TEST_CASE("a handler that does not stop after its question does not delay the client") {
    server_under_test s;
    s.tool("stuck", [&](context& ctx) -> task<std::string> {
        try {
            auto g = co_await ctx.elicit<guest>("g", "Who?");
            co_return g->name;
        } catch (const cancelled&) {
        }
        co_await ctx.sleep(60s);
        co_return "late";
    });
    s.start();
    s.send(request_line("1", "tools/call", R"({"name":"stuck",)" + modern_meta_with(all_capabilities) + "}"));
    CHECK(s.answers_to("1") == 0);
    s.advance(s.settings.bounds.cleanup_grace);
    CHECK(asked_keys(s.seen.answer_message("1")) == std::set<std::string>{"g"});
    s.advance(60s);
    CHECK(s.answers_to("1") == 1);
}

TEST_CASE("a round ends when nothing in the handler can continue: a question waits for work beside it") {
    server_under_test s;
    s.tool("two", [](context& ctx) -> task<std::string> {
        elicited<room> sleeping;
        elicited<guest> visitor;
        co_await with_scope([&](scope& both) -> task<void> {
            both.spawn(ask_room(ctx, sleeping));
            auto later = [](context& c, elicited<guest>& into) -> task<void> {
                co_await c.sleep(50ms);
                into = co_await c.elicit<guest>("guest", "Who comes?");
            };
            both.spawn(later(ctx, visitor));
            co_return;
        });
        co_return visitor->name;
    });
    s.start();
    s.send(request_line("1", "tools/call", R"({"name":"two",)" + modern_meta_with(all_capabilities) + "}"));
    CHECK(s.answers_to("1") == 0);
    s.advance(50ms);
    CHECK(asked_keys(s.seen.answer_message("1")) == std::set<std::string>{"room", "guest"});
}

TEST_CASE("cancelling a call that has asked: no answer, and the question is withdrawn (CAN-04, B7)") {
    SUBCASE("2026-07-28, while other work runs besides the question") {
        server_under_test s;
        s.tool("two", [](context& ctx) -> task<std::string> {
            elicited<room> sleeping;
            co_await with_scope([&](scope& both) -> task<void> {
                both.spawn(ask_room(ctx, sleeping));
                auto wait = [](context& c) -> task<void> { co_await c.sleep(1h); };
                both.spawn(wait(ctx));
                co_return;
            });
            co_return "";
        });
        s.start();
        s.send(request_line("1", "tools/call", R"({"name":"two",)" + modern_meta_with(all_capabilities) + "}"));
        s.cancel("1");
        CHECK(s.answers_to("1") == 0);
        CHECK(s.in_flight() == 0);
    }
    SUBCASE("2025-11-25") {
        booking_counts seen;
        booking_server h(seen);
        h->start();
        h->send(server_under_test::initialize_line("\"init\"", "2025-11-25", all_capabilities));
        h->send(notification_line("notifications/initialized"));
        h->call("1", "book");
        h->seen.take();
        h->cancel("1");
        lines said = h->seen.take();
        REQUIRE(said.size() == 1);
        CHECK(said[0].find("notifications/cancelled") != std::string::npos);
        CHECK(h->answers_to("1") == 0);
    }
}

TEST_CASE("a question whose coroutine the handler cancels is not asked") {
    server_under_test s;
    s.tool("first", [](context& ctx) -> task<std::string> {
        elicited<room> sleeping;
        std::string failed;
        try {
            co_await with_scope([&](scope& both) -> task<void> {
                both.spawn(ask_room(ctx, sleeping));
                auto fail = [](context& c) -> task<void> {
                    co_await c.yield();
                    throw std::runtime_error("no rooms today");
                };
                both.spawn(fail(ctx));
                co_return;
            });
        } catch (const std::runtime_error& e) {
            failed = e.what();
        }
        auto visitor = co_await ctx.elicit<guest>("guest", "Who comes?");
        co_return failed + visitor->name;
    });
    s.start();
    CHECK(asked_keys(modern_call(s, "1", "first")) == std::set<std::string>{"guest"});
}

TEST_CASE("two questions with the same key are an error that is logged") {
    server_under_test s;
    s.tool("twice", [](context& ctx) -> task<std::string> {
        elicited<room> a;
        elicited<room> b;
        co_await with_scope([&](scope& both) -> task<void> {
            both.spawn(ask_room(ctx, a));
            both.spawn(ask_room(ctx, b));
            co_return;
        });
        co_return "";
    });
    s.start();
    CHECK(modern_call(s, "1", "twice")["error"]["code"].as_int() == -32603);
    CHECK(s.logged("duplicate key of questions in one call"));
}

}  // namespace keel::test
