// Progress, cancellation and log messages.

#include "revisions.hpp"

#include <keel/async.hpp>

#include <set>

using namespace keel;
using namespace keel::test;

namespace {

json::value report(const json::value& token, double progress) {
    json::value p = json::object({{"progress", progress}});
    p.set("progressToken", token);
    return p;
}

json::value sampling() {
    return json::parse(
        R"({"messages":[{"role":"user","content":{"type":"text","text":"?"}}],"maxTokens":1,"_meta":{"progressToken":"t"}})");
}

}  // namespace

TEST_CASE("PROG-01: every open request has its own progress token, an integer") {
    for (const std::string& revision : every_revision) {
        client_under_test t;
        t.connect(revision);
        std::set<std::string> tokens;
        std::vector<json::value> calls;
        for (int i = 0; i < 20; ++i) t.run(t.client->call_tool("x"));
        for (int i = 0; i < 20; ++i) {
            calls.push_back(t.expect("tools/call"));
            const json::value& token = calls.back()["params"]["_meta"]["progressToken"];
            CHECK(token.if_int().has_value());
            CHECK(tokens.insert(json::to_string(token)).second);
        }
        for (const json::value& each : calls) t.answer(each, text_result(revision, "ok"));
    }
}

TEST_CASE("PROG-02: progress reaches its call, in order, and only while the call is open") {
    for (const std::string& revision : every_revision) {
        client_under_test t;
        t.connect(revision);
        std::string heard;
        auto listening = [&](std::string name) {
            call_options how;
            how.on_progress = [&heard, name](const progress_report& r) {
                heard += name + std::to_string(static_cast<int>(r.progress)) + (r.total ? "/" : "") + r.message + " ";
            };
            return how;
        };
        outcome_of_task& one = t.run(t.client->call_tool("x", {}, listening("a")));
        outcome_of_task& two = t.run(t.client->call_tool("x", {}, listening("b")));
        json::value first = t.expect("tools/call");
        json::value second = t.expect("tools/call");
        const json::value& a = first["params"]["_meta"]["progressToken"];
        const json::value& b = second["params"]["_meta"]["progressToken"];
        t.notify("notifications/progress", report(a, 1));
        json::value whole = report(b, 2);
        whole.set("total", 10);
        whole.set("message", "m");
        t.notify("notifications/progress", whole);
        t.notify("notifications/progress", report(json::value("x"), 9));
        t.notify("notifications/progress", report(json::value(999), 9));
        t.notify("notifications/progress", json::object({{"progressToken", a}}));
        t.answer(first, text_result(revision, "ok"));
        t.notify("notifications/progress", report(a, 9));
        t.notify("notifications/progress", report(b, 3));
        t.answer(second, text_result(revision, "ok"));
        CHECK(one.text == "ok");
        CHECK(two.text == "ok");
        CHECK(heard == "a1 b2/m b3 ");
        CHECK(t.silent());
    }
}

TEST_CASE("G3, G4: a progress callback that ends its own call stays valid until it returns") {
    for (const std::string& revision : every_revision) {
        for (const char* how_it_ends : {"given up", "closed", "destroyed"}) {
            CAPTURE(revision);
            CAPTURE(how_it_ends);
            client_under_test t;
            t.connect(revision);
            const std::string what = how_it_ends;
            outcome_of_task* call = nullptr;
            int reports = 0;
            bool outlived = false;
            auto end_it = [&] {
                if (what == "given up") call->line.stop();
                if (what == "closed") client_access::engine(*t.client)->connections.in_use()->close();
                if (what == "destroyed") t.client.reset();
            };
            {
                call_options how;
                how.on_progress = [&, held = std::make_shared<int>(7)](const progress_report&) {
                    // end_it() may destroy this callback and its captures, so these are copied first.
                    std::weak_ptr<int> watched = held;
                    bool& into = outlived;
                    ++reports;
                    end_it();
                    into = !watched.expired();
                };
                call = &t.run(t.client->call_tool("x", {}, std::move(how)));
            }
            json::value request = t.expect("tools/call");
            t.notify("notifications/progress", report(request["params"]["_meta"]["progressToken"], 1));
            CHECK(reports == 1);
            CHECK(outlived);
            t.advance(10s);
            CHECK(call->settled == 1);
            CHECK(call->failed);
        }
    }
}

TEST_CASE("PROG-02: the client sends no progress of its own") {
    for (const std::string& revision : older_revisions) {
        event gate;
        client_options options;
        options.on_sampling = [&](sampling_request) -> task<sampling_result> {
            co_await gate;
            co_return sampling_result(content("x"), "m");
        };
        client_under_test t(options);
        t.connect(revision);
        t.ask(1, "sampling/createMessage", sampling());
        t.advance(10s);
        CHECK(t.silent());
        gate.set();
        t.loop->run();
        CHECK(t.next().contains("result"));
        CHECK(t.silent());
    }
}

TEST_CASE("CAN-01, STD-04: only open requests are cancelled, by their id, once") {
    for (const std::string& revision : every_revision) {
        client_under_test t;
        t.connect(revision);
        outcome_of_task& one = t.run(t.client->call_tool("x"));
        outcome_of_task& two = t.run(t.client->read_resource("a:b"), count_of);
        json::value first = t.expect("tools/call");
        json::value second = t.expect("resources/read");
        t.answer(first, text_result(revision, "ok"));
        t.abandon(one);
        CHECK(one.text == "ok");
        CHECK(t.silent());
        t.abandon(two);
        t.abandon(two);
        CHECK(two.text == "cancelled");
        CHECK(t.expect("notifications/cancelled")["params"]["requestId"] == second["id"]);
        CHECK(t.silent());
    }
}

TEST_CASE("CAN-02, CAN-05: responses, errors and progress after a cancellation are ignored") {
    for (const std::string& revision : every_revision) {
        for (bool error : {false, true}) {
            client_under_test t;
            t.connect(revision);
            std::stop_source stop;
            call_options how;
            how.stop = stop.get_token();
            int reports = 0;
            how.on_progress = [&](const progress_report&) { ++reports; };
            outcome_of_task& o = t.run(t.client->call_tool("x", {}, how));
            json::value call = t.expect("tools/call");
            stop.request_stop();
            t.loop->run();
            CHECK(o.kind == error_kind::cancelled);
            t.expect("notifications/cancelled");
            t.notify("notifications/progress", report(call["params"]["_meta"]["progressToken"], 1));
            if (error) t.refuse(call, -32603);
            else t.answer(call, text_result(revision, "late"));
            t.answer(call, text_result(revision, "later"));
            CHECK(reports == 0);
            CHECK(o.settled == 1);
            outcome_of_task& next = t.run(t.client->call_tool("x"));
            t.answer(t.expect("tools/call"), text_result(revision, "ok"));
            CHECK(next.text == "ok");
        }
    }
}

TEST_CASE("CAN-04, CAN-02: a request that the server cancels is stopped and not answered") {
    for (const std::string& revision : older_revisions) {
        event never;
        int running = 0;
        client_options options;
        options.on_sampling = [&](asked_by who, sampling_request) -> task<sampling_result> {
            struct count {
                int& n;
                explicit count(int& i) : n(i) { ++n; }
                ~count() { --n; }
            } counted(running);
            co_await never;
            CHECK(!who.cancelled());
            co_return sampling_result(content("x"), "m");
        };
        client_under_test t(options);
        t.connect(revision);
        t.ask("q", "sampling/createMessage", sampling());
        CHECK(running == 1);
        t.notify("notifications/cancelled", json::object({{"requestId", "other"}}));
        t.notify("notifications/cancelled", json::object({{"requestId", 7}}));
        t.notify("notifications/cancelled", json::object({{"requestId", json::array()}}));
        t.notify("notifications/cancelled");
        CHECK(running == 1);
        t.notify("notifications/cancelled", json::object({{"requestId", "q"}, {"reason", "no need"}}));
        CHECK(running == 0);
        t.notify("notifications/cancelled", json::object({{"requestId", "q"}}));
        CHECK(t.silent());
        t.ask("q", "ping");  // its id can be used again
        CHECK(t.next()["id"].if_string() == "q");
    }
}

TEST_CASE("CAN-01, CAN-04: in 2026-07-28 a server may cancel only a listen request") {
    client_under_test t;
    t.connect(modern);
    outcome_of_task& o = t.run(t.client->call_tool("x"));
    json::value call = t.expect("tools/call");
    t.notify("notifications/cancelled", json::object({{"requestId", call["id"]}}));
    CHECK(!o.done());
    t.answer(call, text_result(modern, "ok"));
    CHECK(o.text == "ok");
}

TEST_CASE("LOG-01, LOG-02: log messages are requested as the revision requires, and delivered") {
    for (const std::string& revision : every_revision) {
        std::string heard;
        client_options options;
        options.on_log = [&](const server_log& l) {
            heard += std::string(name_of(l.level)) + l.logger + json::to_string(l.data) + " ";
        };
        client_under_test t(options);
        t.connect(revision);
        constexpr const char* key = "io.modelcontextprotocol/logLevel";
        outcome_of_task& before = t.run(t.client->call_tool("x"));
        json::value call = t.expect("tools/call");
        CHECK(!call["params"]["_meta"].contains(key));
        t.answer(call, text_result(revision, "ok"));
        CHECK(before.done());
        outcome_of_task& set = t.run(t.client->set_log_level(log_level::warning));
        if (revision != modern) {
            json::value request = t.expect("logging/setLevel");
            CHECK(request["params"]["level"].if_string() == "warning");
            t.answer(request, json::object());
        }
        CHECK(set.text == "done");
        outcome_of_task& after = t.run(t.client->call_tool("x"));
        call = t.expect("tools/call");
        CHECK(call["params"]["_meta"].contains(key) == (revision == modern));
        if (revision == modern) CHECK(call["params"]["_meta"][key].if_string() == "warning");
        t.notify("notifications/message",
                 json::object({{"level", "error"}, {"logger", "l"}, {"data", json::object({{"a", 1}})}}));
        t.notify("notifications/message", json::object({{"level", "loud"}, {"data", 1}}));
        t.answer(call, text_result(revision, "ok"));
        CHECK(after.done());
        CHECK(heard == R"(errorl{"a":1} )");
        CHECK(t.silent());
    }
}
