// Consecutive sessions: data of the first session is not used for the second, and an ended session is not used.

#include "client/lifecycle_slow_link.hpp"
#include "http_client_under_test.hpp"

using namespace keel;
using namespace keel::test;

namespace {

bool knows(const keel::client& c, std::string_view tool) { return client_access::engine(c)->tools.contains(tool); }

json::value tools_named(std::string_view revision, std::string_view name) {
    json::value r = result_in(revision, R"({"ttlMs":100000})");
    json::value tool = json::parse(R"({"inputSchema":{"type":"object"}})");
    tool.set("name", name);
    r.set("tools", json::array({tool}));
    if (revision != modern) r.erase("ttlMs");
    return r;
}

/// A server of an older revision over HTTP, with sessions and without a GET stream.
struct older_web {
    older_web() {
        std::string& o = t.run(t.client->connect(), [] { return std::string("done"); });
        t.connector->requests->reply(t.last("server/discover"), 400, "", "");
        t.loop->run();
        serve();
        REQUIRE_MESSAGE(o == "done", o);
        spoke("2025-11-25");
    }
    /// Answers open requests as long as there are more, up to a limit.
    void serve() {
        for (int i = 0; i < 200; ++i) {
            seen_request* open = nullptr;
            for (const auto& each : t.connector->requests->requests) {
                if (each->open() && !open) open = each.get();
            }
            if (!open) return;
            answer(*open);
            t.loop->run();
        }
    }
    std::size_t handshakes() { return t.connector->requests->all("POST initialize").size(); }

    bool forgets = false;  // the server forgets every session at once
    std::string sessions_to_forget;
    web_client t{false};

private:
    void answer(seen_request& r) {
        fake_wire& on = *t.connector->requests;
        const std::string what = r.shown();
        if (what == "POST initialize") {
            return on.answer(
                r,
                R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}})",
                {{"mcp-session-id", "s-" + std::to_string(handshakes())}});
        }
        if (what == "GET") return on.reply(r, 405, "", "");
        if (forgets || r.header("Mcp-Session-Id") == sessions_to_forget) return on.reply(r, 404, "", "");
        if (what == "POST tools/list") return on.answer(r, json::to_string(tools_named("2025-11-25", "a")));
        if (what == "POST tools/call") return on.answer(r, R"({"content":[]})");
        on.accept(r);
    }
};

}  // namespace

TEST_CASE("G8, CACHE-07: cached results of one server are not used for the next, even if the first ends later") {
    for (const std::string& revision : every_revision) {
        client_under_test t;
        auto slow = make_slow(t);
        slow->slow_to_go = true;
        t.connect(revision);
        outcome_of_task& first = t.run(t.client->list_tools(), joined_names);
        t.answer(t.expect("tools/list"), tools_named(revision, "a"));
        CHECK(first.text == "a");
        CHECK(knows(*t.client, "a"));
        t.wire().eof();
        t.loop->run();
        slow->slow_to_go = false;
        t.connect(revision);
        CHECK(!knows(*t.client, "a"));
        outcome_of_task& second = t.run(t.client->list_tools(), joined_names);
        t.answer(t.expect("tools/list"), tools_named(revision, "b"));
        CHECK(second.text == "b");
        // The data of the second session is not removed with the first.
        t.loop->post([&] { slow->go->set(); });
        t.loop->run();
        CHECK(knows(*t.client, "b"));
        if (revision == modern) CHECK(t.run(t.client->list_tools(), joined_names).text == "b");
        CHECK(t.silent());
    }
}

TEST_CASE("D3, G1: a task that waits for a connection that is closed before use gets an error") {
    for (const std::string& revision : every_revision) {
        for (bool subscribes : {false, true}) {
            client_under_test t;
            outcome_of_task& gives_up = t.run(t.client->connect());
            t.expect("server/discover");
            subscription_request what;
            what.tools = true;
            outcome_of_task& waits =
                subscribes ? t.run(t.client->subscribe(what), [](const subscription&) { return std::string("done"); })
                           : t.run(t.client->call_tool("x"));
            // Its connect() resumes before the waiting call, which uses the connection.
            auto connect_and_close = [&]() -> task<void> {
                co_await t.client->connect();
                co_await t.client->close();
            };
            outcome_of_task& closes = t.run(connect_and_close());
            t.abandon(gives_up);
            CHECK(gives_up.text == "cancelled");
            REQUIRE(t.connector->wires.size() == 2);
            t.play_opening(revision);
            CHECK(closes.text == "done");
            CHECK_MESSAGE(waits.kind == error_kind::closed, waits.text);
            CHECK(t.silent());
            CHECK(t.wire().closed());
        }
    }
}

TEST_CASE("D18: in a new session the known tools are dropped") {
    older_web w;
    std::string& listed = w.t.list();
    w.serve();
    CHECK(listed == "a ");
    CHECK(knows(*w.t.client, "a"));
    w.sessions_to_forget = "s-1";
    std::string& call = w.t.call("a", "{}");
    w.serve();
    CHECK(call == "ok");
    CHECK(w.handshakes() == 2);
    CHECK(!knows(*w.t.client, "a"));
}

TEST_CASE(
    "D18, LHTTP-11: a server that rejects every session it creates is not retried forever, but by the next "
    "call") {
    older_web w;
    w.forgets = true;
    for (std::size_t calls = 1; calls <= 3; ++calls) {
        std::string& call = w.t.call("a", "{}");
        w.serve();
        CHECK(call.starts_with("failed: "));
        CHECK(w.handshakes() == 1 + 2 * calls);
        CHECK(w.t.connector->requests->open() == 0);
    }
    w.forgets = false;
    std::string& call = w.t.call("a", "{}");
    w.serve();
    CHECK(call == "ok");
}

TEST_CASE("I10, SUB-05: over HTTP too, a listen request that the server cancels has ended, and its stream is closed") {
    web_client t;
    subscription held;
    subscription_request what;
    what.tools = true;
    std::string& o = t.run(t.client->subscribe(what), [&](subscription& s) {
        held = std::move(s);
        return std::string("subscribed");
    });
    seen_request& listen = t.last("subscriptions/listen");
    fake_wire& on = *t.connector->requests;
    on.open_stream(listen);
    const std::string meta = R"("_meta":{"io.modelcontextprotocol/subscriptionId":)" + listen.id() + "}";
    on.event(listen, R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{)" + meta +
                         R"(,"notifications":{"toolsListChanged":true}}})");
    t.loop->run();
    REQUIRE(o == "subscribed");
    on.event(listen,
             R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" + listen.id() + "}}");
    t.loop->run();
    CHECK(held.how_ended() == subscription_end::ended);
    CHECK(listen.cancelled);
    CHECK(on.last().shown() == "POST subscriptions/listen");
}
