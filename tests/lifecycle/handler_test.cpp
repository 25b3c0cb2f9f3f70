// Lifecycle rules F over a server session: what handlers may do and how they end.

#include "support/harness.hpp"

#include <thread>
#include <vector>

using namespace keel;
using namespace keel::test;

namespace {

struct of_my_own {
    std::string text = "secret-own";
};

void throw_something(std::string_view what) {
    if (what == "int") throw 42;
    if (what == "text") throw "secret-chars";
    if (what == "own") throw of_my_own();
    if (what == "exception") throw std::exception();
    if (what == "runtime") throw std::runtime_error("secret-runtime");
    if (what == "kind") throw keel::error(error_kind::timed_out, "secret-kind");
    if (what == "cancelled") throw cancelled();
    if (what == "protocol") throw keel::error(-31999, "as meant", json::object({{"row", 7}}));
}

void add_throwing_tools(server_under_test& s) {
    auto plain = [](json::value in) {
        throw_something(in["what"].as_string());
        return "nothing thrown";
    };
    s.tool("quick", plain, {.quick = true});
    s.tool("worker", plain);
    s.tool("coroutine", [](json::value in) -> task<std::string> {
        co_await yield();
        throw_something(in["what"].as_string());
        co_return "nothing thrown";
    });
    s.tool("coroutine-at-once", [](json::value in) -> task<std::string> {
        throw_something(in["what"].as_string());
        co_return "nothing thrown";
    });
}

constexpr const char* kinds[] = {"quick", "worker", "coroutine", "coroutine-at-once"};

}  // namespace

TEST_CASE("F1: whatever a handler throws, the peer gets one fixed error, and the text is only logged") {
    server_under_test s;
    add_throwing_tools(s);
    s.start("2025-11-25");
    int id = 0;
    for (const char* kind : kinds) {
        for (const char* what : {"int", "text", "own", "exception", "runtime", "kind", "cancelled"}) {
            CAPTURE(kind);
            CAPTURE(what);
            std::string n = std::to_string(++id);
            s.call(n, kind, R"({"what":")" + std::string(what) + "\"}");
            s.until([&] { return s.in_flight() == 0; });
            CHECK(s.answer(n) == "error -32603 internal error");
            CHECK(s.answers_to(n) == 1);
            s.call(n, kind, R"({"what":""})");
            s.until([&] { return s.in_flight() == 0; });
            CHECK(s.answer(n) == "nothing thrown");
            s.advance(1s);  // the log is rate limited per second
        }
    }
    CHECK_FALSE(s.seen.mentions("secret"));
    CHECK(s.logged("secret-runtime"));
    CHECK(s.logged("secret-kind"));
}

TEST_CASE("F2: a keel::error of a handler is sent unchanged") {
    server_under_test s;
    add_throwing_tools(s);
    s.start("2025-11-25");
    int id = 0;
    for (const char* kind : kinds) {
        CAPTURE(kind);
        std::string n = std::to_string(++id);
        s.call(n, kind, R"({"what":"protocol"})");
        s.until([&] { return s.in_flight() == 0; });
        CHECK(s.seen.answer_message(n)["error"] ==
              json::object({{"code", -31999}, {"message", "as meant"}, {"data", json::object({{"row", 7}})}}));
    }
}

TEST_CASE("F3: a result that cannot be sent is answered with an error") {
    limits small;
    small.max_message = 4096;
    server_under_test s({.bounds = small});
    auto nan = [] { return std::numeric_limits<double>::quiet_NaN(); };
    auto latin = [] { return std::string("caf\xe9"); };
    auto huge = [] { return std::string(5000, 'x'); };
    auto nothing = [] { return tool_result(); };
    auto odd = [] {
        tool_result r("text");
        r.structured = json::object({{"x", std::numeric_limits<double>::infinity()}});
        return r;
    };
    auto later = [&s](auto f, const char* name) {
        s.tool(std::string(name) + "-quick", f, {.quick = true});
        s.tool(std::string(name) + "-worker", f);
        s.tool(std::string(name) + "-task", [f](context&) -> task<decltype(f())> { co_return f(); });
    };
    later(nan, "nan");
    later(latin, "latin");
    later(huge, "huge");
    later(odd, "odd");
    later(nothing, "nothing");
    s.start("2025-11-25");
    int id = 0;
    for (const char* what : {"nan", "latin", "huge", "odd", "nothing"}) {
        for (const char* how : {"-quick", "-worker", "-task"}) {
            CAPTURE(what);
            CAPTURE(how);
            std::string n = std::to_string(++id);
            s.call(n, std::string(what) + how);
            s.until([&] { return s.in_flight() == 0; });
            CHECK(s.answers_to(n) == 1);
            json::value answer = s.seen.answer_message(n);
            if (std::string_view(what) == "nothing") CHECK(answer["result"]["content"] == json::array());
            else CHECK(answer["error"]["code"].if_int() == -32603);
        }
    }
}

TEST_CASE("F4: a coroutine that never ends is abandoned, and may end later") {
    gate forever;
    server_under_test s;
    s.tool("deaf", [&](context& ctx) -> task<std::string> {
        head_count::presence here(s.handlers);
        for (int i = 0; i < 2; ++i) {
            try {
                co_await forever.pass();
            } catch (const cancelled&) {
            }
        }
        ctx.progress(1);
        ctx.log(log_level::error, "late");
        try {
            co_await ctx.request("roots/list", json::value());
        } catch (const error& e) {
            if (e.kind() != error_kind::closed) throw;
        }
        co_return "late";
    });
    s.start("2025-11-25");
    s.call("1", "deaf", "{}", "1");
    s.eof();
    CHECK(s.answer("1") == "error -32603 server shutting down");
    CHECK(s.ends.empty());
    s.advance(2s);
    REQUIRE(s.ends.size() == 1);
    CHECK(s.ends[0].abandoned == 1);
    CHECK(s.in_flight() == 0);
    CHECK(s.handlers.here() == 1);
    SUBCASE("while its session exists") {}
    SUBCASE("after its session was destroyed") {
        s.session.reset();
        CHECK(s.wire->destroyed());
    }
    s.open(forever);
    CHECK(s.handlers.here() == 0);
    CHECK(s.answers_to("1") == 1);
}

TEST_CASE("F4: a blocked worker is abandoned, and may end after everything else") {
    thread_gate forever;
    bool destroy = false;
    SUBCASE("while its session exists") {}
    SUBCASE("after its session was destroyed") { destroy = true; }
    server_under_test s;
    s.tool("deaf", [&](context& ctx) {
        head_count::presence here(s.handlers);
        forever.pass();
        ctx.progress(1);
        ctx.log(log_level::error, "late");
        ctx.close_connection();
        return std::string(ctx.cancelled() ? "late" : "not told");
    });
    s.start("2025-11-25");
    s.call("1", "deaf", "{}", "1");
    forever.wait_arrived(1);
    s.wire->fail_read(5);
    s.loop->run();
    CHECK(s.ends.empty());
    s.advance(2s);
    REQUIRE(s.ends.size() == 1);
    CHECK(s.ends[0].abandoned == 1);
    if (destroy) s.session.reset();
    forever.open();
    s.settle_workers();
    CHECK(s.seen.take().empty());
}

TEST_CASE("F4: a worker that is blocked when its server is destroyed uses no freed objects") {
    auto forever = std::make_shared<thread_gate>();
    auto ended = std::make_shared<thread_gate>();
    auto loop = std::make_shared<manual_loop>();
    auto wire = std::make_shared<script>(loop);
    {
        auto core =
            std::make_shared<server_side::server_core>(implementation{.name = "x", .version = "1"}, server_options{});
        core->tools.put(
            std::make_shared<const server_side::tool>(detail::make_tool("deaf", "",
                                                                        [forever, ended](context& ctx) {
                                                                            struct at_end {
                                                                                std::shared_ptr<thread_gate> g;
                                                                                ~at_end() { g->open(); }
                                                                            } say{ended};
                                                                            forever->pass();
                                                                            ctx.progress(1);
                                                                            return std::string("late");
                                                                        },
                                                                        {})));
        int ends = 0;
        auto session = std::make_shared<server_side::server_session>(core, [&](const connection_end&) { ++ends; });
        session->start(loop, wire->open(), {});
        wire->feed(server_under_test::initialize_line("0", "2025-11-25") + "\n" + call_line("1", "deaf", "{}", "1") +
                   "\n");
        loop->run();
        forever->wait_arrived(1);
        wire->hangup();
        loop->advance(2s);
        CHECK(ends == 1);
    }
    CHECK(wire->destroyed());
    forever->open();
    ended->pass();
    // Its last progress and its result are posted to a connection that no longer exists.
    for (std::size_t before = loop->steps(); loop->steps() < before + 2; loop->run()) loop->wait_for_work();
}

TEST_CASE("F6: a handler closes its own connection and is not answered") {
    gate never;
    server_under_test s;
    s.tool("bystander", [&](context&) -> task<std::string> {
        head_count::presence here(s.handlers);
        co_await never.pass();
        co_return "";
    });
    s.tool("quick",
           [](context& ctx) {
               ctx.close_connection();
               return std::string(ctx.cancelled() ? "told" : "not told");
           },
           {.quick = true});
    s.tool("worker", [](context& ctx) {
        ctx.close_connection();
        return std::string("done");
    });
    s.tool("coroutine", [&](context& ctx) -> task<std::string> {
        head_count::presence here(s.handlers);
        ctx.close_connection();
        co_await never.pass();  // it is cancelled like any other handler
        co_return "";
    });
    s.start("2025-11-25");
    s.call("1", "bystander");
    const char* kind = nullptr;
    SUBCASE("a quick tool") { kind = "quick"; }
    SUBCASE("a worker") { kind = "worker"; }
    SUBCASE("a coroutine") { kind = "coroutine"; }
    s.call("2", kind);
    s.until([&] { return !s.ends.empty(); });
    CHECK(s.answers_to("2") == 0);
    CHECK(s.answer("1") == "error -32603 server shutting down");
    CHECK(s.ends[0].cause.empty());
    CHECK(s.ends[0].abandoned == 0);
}

TEST_CASE("F6: a handler that closes its connection and keeps running is awaited only for the grace time") {
    thread_gate forever;
    server_under_test s;
    s.tool("close", [&](context& ctx) {
        head_count::presence here(s.handlers);
        ctx.close_connection();
        forever.pass();
        return std::string("late");
    });
    s.start("2025-11-25");
    s.call("1", "close");
    forever.wait_arrived(1);
    s.loop->run();
    CHECK(s.ends.empty());
    s.advance(2s);
    REQUIRE(s.ends.size() == 1);
    CHECK(s.ends[0].abandoned == 1);
    CHECK(s.seen.take().empty());
    forever.open();
}

TEST_CASE("F7, C9: a saved context can be used after the end of its request, its connection and its server") {
    std::optional<context> saved;
    auto loop = std::make_shared<manual_loop>();
    auto use = [&](const std::string& when) {
        CAPTURE(when);
        auto speak = [&saved] {
            saved->progress(1);
            saved->log(log_level::emergency, "late");
            (void)saved->cancelled();
            (void)saved->reason();
            (void)saved->stop_token().stop_requested();
            (void)saved->meta();
            (void)saved->client_info();
            (void)saved->client_capabilities();
            (void)saved->protocol_version();
        };
        speak();
        std::thread one(speak);
        std::thread two(speak);
        one.join();
        two.join();
        loop->run();
        std::string outcome = "pending";
        detail::activity line(*loop);
        bool taken = loop->post([&] {
            detail::start(line, saved->request("roots/list", json::value()), [&](detail::outcome<json::value> o) {
                try {
                    if (o.index() == 0) std::rethrow_exception(std::get<0>(o));
                    outcome = "answered";
                } catch (const error& e) {
                    outcome = name_of(e.kind());
                } catch (const cancelled&) {
                    outcome = "cancelled";
                }
            });
        });
        loop->run();
        CHECK((outcome == "pending") == !taken);  // a loop that has ended runs nothing
        CHECK(outcome != "answered");
        CHECK(loop->ready() == 0);
    };
    auto wire = std::make_shared<script>(loop);
    {
        auto core =
            std::make_shared<server_side::server_core>(implementation{.name = "x", .version = "1"}, server_options{});
        core->tools.put(std::make_shared<const server_side::tool>(detail::make_tool("save", "",
                                                                                    [&](context& ctx) {
                                                                                        saved = ctx;
                                                                                        return std::string("saved");
                                                                                    },
                                                                                    {.quick = true})));
        auto session = std::make_shared<server_side::server_session>(core, [](const connection_end&) {});
        session->start(loop, wire->open(), {});
        wire->feed(server_under_test::initialize_line("0", "2025-11-25") + "\n" + call_line("1", "save", "{}", "1") +
                   "\n");
        loop->run();
        wire->take_output();
        REQUIRE(saved);
        use("after the answer");
        CHECK_FALSE(saved->cancelled());
        wire->eof();
        loop->run();
        CHECK(session->closed());
        use("after the connection");
        CHECK(wire->output().empty());
    }
    CHECK(wire->destroyed());
    use("after the server");
    saved->close_connection();
    loop->end();
    use("after the loop");
    saved.reset();
}

TEST_CASE("F8: of 10,000 requests those beyond the limit are refused, and a cancel still works") {
    gate never;
    server_under_test s;
    s.tool("park", [&](context&) -> task<std::string> {
        head_count::presence here(s.handlers);
        co_await never.pass();
        co_return "";
    });
    s.start("2025-11-25");
    for (int i = 0; i < 10'000; ++i) s.later(call_line(std::to_string(i), "park"));
    s.loop->run();
    CHECK(s.handlers.here() == 256);
    CHECK(s.in_flight() == 256);
    CHECK(s.seen.take().size() == 10'000 - 256);
    CHECK(s.answers_to("0") == 0);
    CHECK(s.seen.answer_message("300")["error"] == json::object({{"code", -32603},
                                                                 {"message", "too many requests in flight"},
                                                                 {"data", json::object({{"reason", "overloaded"}})}}));
    s.cancel("0");
    CHECK(s.handlers.here() == 255);
    s.send(request_line("\"p\"", "ping"));
    CHECK(s.answer("\"p\"") == "{}");
    s.call("20000", "park");
    CHECK(s.handlers.here() == 256);
    CHECK(s.answers_to("20000") == 0);
    s.eof();
    CHECK(s.ends.size() == 1);
}

TEST_CASE("F8: the limit of the server counts the handlers of all its connections") {
    gate never;
    server_under_test s({.bounds = [] {
        limits l;
        l.max_in_flight_total = 3;
        return l;
    }()});
    s.tool("park", [&](context&) -> task<std::string> {
        head_count::presence here(s.handlers);
        co_await never.pass();
        co_return "";
    });
    s.start("2025-11-25");
    auto second_wire = std::make_shared<script>(s.loop);
    auto second = std::make_shared<server_side::server_session>(s.core, [](const connection_end&) {});
    second->start(s.loop, second_wire->open(), s.settings.bounds);
    second_wire->feed(s.initialize_line("0", "2025-11-25") + "\n");
    for (const char* id : {"1", "2"}) second_wire->feed(call_line(id, "park") + "\n");
    s.loop->run();
    second_wire->take_output();
    s.call("1", "park");
    s.call("2", "park");
    CHECK(s.answers_to("1") == 0);
    CHECK(s.answer("2") == "error -32603 too many requests in flight");
    second_wire->hangup();
    s.loop->run();
    CHECK(s.in_flight() == 1);
    s.call("3", "park");
    CHECK(s.answers_to("3") == 0);
    second.reset();
}

TEST_CASE("F9, D16: notifications are handled in the order in which they came, and one that throws is contained") {
    for (rpc::role r : {rpc::role::server, rpc::role::client}) {
        peer_under_test p(r);
        std::vector<std::int64_t> heard;
        p.hear = [&](std::string_view, const json::value* params) {
            heard.push_back((*params)["n"].as_int());
            if (heard.back() % 3 == 0) throw std::runtime_error("a callback failed");
            if (heard.back() % 3 == 1) throw 42;
        };
        std::string all;
        for (int i = 0; i < 1000; ++i) {
            all += notification_line("notifications/x", R"({"n":)" + std::to_string(i) + "}") + "\n";
        }
        all += request_line("1", "after") + "\n";
        p.later_bytes(all);
        p.loop->run();
        REQUIRE(heard.size() == 1000);
        for (std::size_t i = 0; i < heard.size(); ++i) CHECK(heard[i] == static_cast<std::int64_t>(i));
        CHECK(p.seen.answer("1") == "{}");
    }
}

TEST_CASE("F10: a nested request that cannot be delivered fails at once") {
    server_under_test s;
    std::string outcome;
    auto ask = [&outcome](context ctx) -> task<std::string> {
        outcome = "pending";
        try {
            co_await ctx.request("sampling/createMessage", json::value());
            outcome = "answered";
        } catch (const error& e) {
            outcome = name_of(e.kind());
        }
        co_return outcome;
    };
    s.tool("ask", [&](context& ctx) -> task<std::string> { return ask(ctx); });
    s.tool("roots", [&](context& ctx) -> task<std::string> {
        try {
            co_await ctx.list_roots();
        } catch (const error& e) {
            co_return std::string(name_of(e.kind()));
        }
        co_return "listed";
    });

    SUBCASE("on 2026-07-28") {
        s.start();
        s.send(modern_call_line("1", "ask"));
        CHECK(s.answer("1") == "unavailable");
        s.send(modern_call_line("2", "roots"));
        CHECK(s.answer("2") == "unavailable");
        for (const std::string& frame : s.seen.all()) CHECK_FALSE(json::parse(frame).contains("method"));
    }
    SUBCASE("to a client without roots") {
        s.start();
        s.send(s.initialize_line("0", "2025-11-25", "{}"));
        s.call("1", "roots");
        CHECK(s.answer("1") == "unavailable");
        CHECK(s.seen.with_method("roots/list").empty());
    }
    SUBCASE("for a request that has ended") {
        std::optional<context> saved;
        s.tool("save",
               [&](context& ctx) {
                   saved = ctx;
                   return "saved";
               },
               {.quick = true});
        s.start("2025-11-25");
        s.call("1", "save");
        s.tool("ask-for-another", [&](context&) -> task<std::string> { return ask(*saved); });
        s.seen.take();
        s.call("2", "ask-for-another");
        CHECK(s.answer("2") == "cancelled");
        for (const json::value& asked : s.seen.with_method("sampling/createMessage"))
            FAIL_CHECK(json::to_string(asked));
        saved.reset();
    }
    SUBCASE("while the peer does not read enough output") {
        limits l;
        l.out_queue_soft = 100;
        server_under_test slow({.bounds = l});
        slow.tool("ask", [&](context& ctx) -> task<std::string> { return ask(ctx); });
        slow.tool("big", [] { return std::string(200, 'x'); }, {.quick = true});
        slow.start("2025-11-25");
        slow.wire->stall();
        slow.call("1", "big");
        slow.call("2", "ask");
        CHECK(outcome == "unavailable");
    }
    if (!s.wire->started()) s.start();
}

TEST_CASE("F11: an exception while a handler is started is answered with an error and does not end the connection") {
    peer_under_test p(rpc::role::server);
    p.on["broken"] = [](std::shared_ptr<rpc::request>) -> task<std::string> {
        throw std::system_error(EAGAIN, std::generic_category());
    };
    p.send(request_line("1", "broken"));
    CHECK(p.seen.answer("1") == "error -32603 internal error");
    p.send(request_line("2", "fine"));
    CHECK(p.seen.answer("2") == "{}");
}
