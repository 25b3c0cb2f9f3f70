// Older revisions over HTTP: the GET stream was interrupted or has ended.

#include "client/revisions.hpp"

using namespace keel;
using namespace keel::test;

namespace {

struct told {
    explicit told(std::string_view version) : t(options()) {
        t.connect(version);
        subscription_request all;
        all.tools = all.resources = true;
        all.uris = {"test://a", "test://b"};
        outcome_of_task& o = t.run(t.client->subscribe(all), [this](subscription& s) {
            what = std::move(s);
            return std::string("subscribed");
        });
        for (int i = 0; i < 2; ++i) t.answer(t.expect("resources/subscribe"), json::object());
        REQUIRE(o.text == "subscribed");
    }
    client_options options() {
        client_options o;
        o.on_list_changed = [this](list_kind which) { lists.push_back(which); };
        return o;
    }
    std::string next() {
        outcome_of_task& o = t.run(what.next(), [](const std::optional<change>& c) -> std::string {
            if (!c) return "over";
            if (c->what == change::kind::resource) return c->uri;
            return c->what == change::kind::tools ? "tools" : "resources";
        });
        return o.text;
    }

    std::vector<list_kind> lists;
    subscription what;
    client_under_test t;
};

}  // namespace

TEST_CASE("I11: after an interrupted stream all subscriptions are reported as changed, and the cache is not used") {
    for (const std::string& version : older_revisions) {
        told s(version);
        outcome_of_task& list =
            s.t.run(s.t.client->list_tools(), [](const auto& all) { return std::to_string(all.size()); });
        s.t.answer(s.t.expect("tools/list"), json::parse(R"({"tools":[]})"));
        CHECK(list.text == "0");
        s.t.connector->user->on_gap();
        std::vector<std::string> heard;
        for (int i = 0; i < 4; ++i) heard.push_back(s.next());
        std::sort(heard.begin(), heard.end());
        CHECK(heard == std::vector<std::string>{"resources", "test://a", "test://b", "tools"});
        CHECK(s.lists.size() == 3);
        CHECK(s.what.how_ended() == subscription_end::none);
    }
}

TEST_CASE("I11: if the stream ends for good, the subscription is lost; calls continue") {
    for (const std::string& version : older_revisions) {
        told s(version);
        s.t.connector->user->on_silence("no more of it");
        CHECK(s.next() == "over");
        CHECK(s.what.how_ended() == subscription_end::lost);
        CHECK(s.what.why_lost() == "no more of it");
        outcome_of_task& o = s.t.run(s.t.client->call_tool("x"));
        s.t.answer(s.t.expect("tools/call"), text_result(version, "ok"));
        CHECK(o.text == "ok");
    }
}

TEST_CASE("a server that does not answer logging/setLevel does not delay the connection") {
    client_options options;
    options.level = log_level::info;
    client_under_test t(options);
    outcome_of_task& o = t.connect("2025-11-25");
    CHECK(o.text == "done");
    t.expect("logging/setLevel");
    CHECK(t.client->connected());
}
