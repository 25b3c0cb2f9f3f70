// Exceptions of user code (docs/rules/lifecycle.md, D16, F1, F2, F9, F11).

#include "client/lifecycle_callbacks.hpp"

using namespace keel;
using namespace keel::test;

namespace {

/// The client still works: it is connected or reconnects, and gets answers.
void check_alive(client_under_test& t, const std::string& version) {
    while (!t.next().is_null()) {
    }
    if (!t.client->connected()) t.connect(version);
    outcome_of_task& o = t.run(t.client->call_tool("x"));
    t.answer(t.expect("tools/call"), text_result("fine"));
    CHECK(o.text == "fine");
}

}  // namespace

TEST_CASE("D16, F11: exceptions of callbacks are caught, and the client continues") {
    for (int what = 0; what < 2; ++what) {
        for_each_callback([&](const std::string& version, const std::string& name) {
            INFO(version << " " << name << " " << what);
            callback_options c;
            client_under_test t(c.make());
            t.connect(version);
            c.act = [&] {
                if (what == 0) throw std::runtime_error("the user's own");
                throw 42;  // not a std::exception
            };
            outcome_of_task* call = bring_about(t, c, name);
            CHECK(c.called == 1);
            c.act = nullptr;
            if (call && name == "progress") t.abandon(*call);
            if (call) CHECK(call->done());
            check_alive(t, version);
        });
    }
}

TEST_CASE("F1, F11, B20: an unexpected exception of a handler becomes an error without its text, and is logged") {
    for (int what = 0; what < 2; ++what) {
        for (const char* name : {"form", "url", "sampling"}) {
            callback_options c;
            client_under_test t(c.make());
            t.connect("2025-11-25");
            c.act = [&] {
                if (what == 0) throw std::runtime_error("secret");
                throw 42;
            };
            std::size_t before = t.log.size();
            bring_about(t, c, name);
            json::value m = t.next();
            CHECK(m["error"]["code"].if_int() == error_code::internal);
            CHECK(json::to_string(m).find("secret") == std::string::npos);
            CHECK(t.log.size() > before);
        }
    }
}

TEST_CASE("F2, B20: an error thrown on purpose by a handler reaches the server unchanged") {
    for (const char* name : {"form", "url", "sampling"}) {
        callback_options c;
        client_under_test t(c.make());
        t.connect("2025-11-25");
        c.act = [&] { throw keel::error(-1, "the user said no", json::object({{"why", "late"}})); };
        bring_about(t, c, name);
        json::value m = t.next();
        CHECK(m["error"]["code"].if_int() == -1);
        CHECK(m["error"]["message"].if_string() == "the user said no");
        CHECK(m["error"]["data"]["why"].if_string() == "late");
    }
}

TEST_CASE("D16: an exception of a handler in a round fails the call") {
    for (int what = 0; what < 2; ++what) {
        callback_options c;
        client_under_test t(c.make());
        t.connect("2026-07-28");
        c.act = [&] {
            if (what == 0) throw std::runtime_error("the user's own");
            throw 42;
        };
        outcome_of_task* call = bring_about(t, c, "question");
        REQUIRE(call);
        CHECK(call->kind.has_value());
        CHECK(call->settled == 1);
    }
}

TEST_CASE("D16: an exception of the log callback is ignored") {
    for (int what = 0; what < 2; ++what) {
        std::size_t called = 0;
        client_under_test t;
        client_options options;
        options.log = [&](log_level, std::string_view) {
            ++called;
            if (what == 0) throw std::runtime_error("the disk is full");
            throw 42;
        };
        t.client.emplace(t.loop, server_target(std::shared_ptr<client_side::connector>(t.connector)), options);
        t.connect("2025-11-25");
        t.send_text("{oops");
        CHECK(called > 0);
        check_alive(t, "2025-11-25");
    }
}

TEST_CASE("D16: a progress callback may cancel its own call") {
    for (const char* version : both_eras) {
        client_under_test t;
        t.connect(version);
        std::stop_source stop;
        call_options how;
        how.stop = stop.get_token();
        how.on_progress = [&](const progress_report&) { stop.request_stop(); };
        outcome_of_task& o = t.run(t.client->call_tool("x", {}, how));
        json::value request = t.expect("tools/call");
        t.notify("notifications/progress", progress_params(request, 1));
        CHECK(o.kind == error_kind::cancelled);
        expect_cancel(t, request);
    }
}

TEST_CASE("F9, D16: notifications are handled in order, also after a callback that throws") {
    std::vector<std::string> seen;
    client_options options;
    options.on_notification = [&](std::string_view method, const json::value&) {
        seen.emplace_back(method);
        if (method == "x/2") throw std::runtime_error("two");
    };
    client_under_test t(options);
    t.connect("2025-11-25");
    std::string all;
    for (int i = 1; i <= 5; ++i) all += line_of("x/" + std::to_string(i), {});
    t.wire().feed(all);
    t.loop->run();
    CHECK(seen == std::vector<std::string>{"x/1", "x/2", "x/3", "x/4", "x/5"});
}
