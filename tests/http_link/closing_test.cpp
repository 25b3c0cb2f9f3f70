// Closing a link.

#include "link_under_test.hpp"

using namespace keel;
using namespace keel::test;

namespace {

struct end_of {
    explicit end_of(link_under_test& t) : line(*t.loop) {
        detail::start(line, t.link->ended(), [this](detail::outcome<void>) { ended = true; });
    }
    detail::activity line;
    bool ended = false;
};

}  // namespace

TEST_CASE("LHTTP-23: a session is ended with DELETE; any response is accepted") {
    for (const char* version : legacy_versions) {
        for (int status : {200, 204, 405, 404, 500, 0}) {
            link_under_test t(legacy(version));
            t.shake_hands();
            t.peer->close();
            end_of e(t);
            t.loop->run();
            REQUIRE(t.on->last().shown() == "DELETE");
            CHECK(t.on->last().header("Mcp-Session-Id") == "s-1");
            CHECK(t.on->last().header("MCP-Protocol-Version") == version);
            CHECK_FALSE(e.ended);
            if (status == 0) t.on->fail(t.on->last());
            else t.on->reply(t.on->last(), status, "", "");
            t.loop->run();
            CHECK(e.ended);
            CHECK(t.on->gone);
        }
    }
}

TEST_CASE("LHTTP-23: a server that does not answer the DELETE is not waited for beyond the limit") {
    for (const char* version : legacy_versions) {
        link_under_test t(legacy(version));
        t.shake_hands();
        t.peer->close();
        end_of e(t);
        t.loop->advance(999ms);
        CHECK_FALSE(e.ended);
        t.loop->advance(1ms);
        CHECK(e.ended);
        CHECK(t.on->last().shown() == "DELETE");
    }
}

TEST_CASE("without a session there is no DELETE") {
    for (bool modern : {true, false}) {
        link_settings_for_test how;
        how.modern = modern;
        link_under_test t(how);
        if (!modern) t.shake_hands("");
        t.peer->close();
        end_of e(t);
        t.loop->run();
        CHECK(e.ended);
        CHECK(t.on->all("DELETE").empty());
    }
}

TEST_CASE("D1, D3: closing ends every call once, and rejects new ones") {
    for (bool modern : {true, false}) {
        link_settings_for_test how;
        how.modern = modern;
        link_under_test t(how);
        if (!modern) t.shake_hands();
        std::vector<std::shared_ptr<asked>> calls;
        for (int i = 0; i < 100; ++i) calls.push_back(t.ask("a"));
        t.on->open_stream(*t.on->all("POST a")[0]);
        t.peer->close();
        for (const auto& each : calls) CHECK(each->outcome == "connection closed");
        for (auto* each : t.on->all("POST a")) CHECK(each->cancelled);
        std::size_t before = t.on->requests.size();
        auto late = t.ask("late");
        CHECK(late->outcome == "connection closed");
        CHECK(t.on->requests.size() == before);
    }
}

TEST_CASE("C1: unanswered requests of the server get an error before the session is deleted") {
    link_under_test t(legacy());
    t.shake_hands();
    rpc::serial open = 0;
    t.when_asked = [&](rpc::serial request, std::string_view) { open = request; };
    t.link->session_opened();
    t.on->open_stream(t.on->last());
    t.on->event(t.on->last(), R"({"jsonrpc":"2.0","id":"q","method":"roots/list"})");
    t.peer->close();
    REQUIRE(t.on->last().shown() == "POST error");
    t.peer->finish(open, "{}");
    t.loop->run();
    CHECK(t.on->all("DELETE").empty());
    t.on->accept(*t.on->all("POST error")[0]);
    t.loop->run();
    CHECK(t.on->last().shown() == "DELETE");
}

TEST_CASE("a link that is destroyed at any point leaks nothing") {
    auto loop = std::make_shared<manual_loop>();
    auto on = std::make_shared<fake_wire>();
    struct user final : client_side::link_user {
        void on_request(rpc::peer&, rpc::serial, std::string_view, const json::value*) override {}
        void on_notification(rpc::peer&, std::string_view, const json::value*) override {}
        void on_report(std::string_view) override {}
        void on_closed(std::string_view, std::size_t) override {}
        void on_session_lost() override {}
    } nobody;
    asked call(*loop);
    {
        auto link = std::make_unique<http_client::http_link>(loop, std::make_unique<fake_pool>(on),
                                                             http_client::http_link_options{});
        auto peer = link->open(loop, limits{}, nobody);
        detail::start(call.line, rpc::peer::ask(peer, nullptr, "a", json::value(), {}),
                      [&](detail::outcome<json::value> what) { call.end(std::move(what)); });
        on->open_stream(on->last());
        on->event(on->last(), "", "id: 1\n");
        on->end(on->last());
        link->session_opened();
        peer->close();
    }
    CHECK(call.ends == 1);
    CHECK(on->gone);
    loop->run();
    CHECK(loop->timers() == 0);
}
