// Roots: declared, listed and changed.

#include "revisions.hpp"

using namespace keel;
using namespace keel::test;

TEST_CASE("ROOT-01, ROOT-04: roots are declared and listed as given, if there are any") {
    for (const std::string& revision : every_revision) {
        client_options options;
        CHECK(declared_first(options, revision, "roots") == "none");
        root r;
        r.uri = "file:///home/me/project";
        r.name = "project";
        options.roots = std::vector<root>{r};
        CHECK(declared_first(options, revision, "roots") == (revision == modern ? "{}" : R"({"listChanged":true})"));
        client_under_test t(options);
        t.connect(revision);
        CHECK(json::to_string(ask_client(t, revision, "roots/list")["result"]) ==
              R"({"roots":[{"uri":"file:///home/me/project","name":"project"}]})");
        client_under_test without;
        without.connect(revision);
        json::value said = ask_client(without, revision, "roots/list");
        if (revision == modern) CHECK(said["failed"].is_string());
        else CHECK(said["error"]["code"].if_int() == -32601);
    }
}

TEST_CASE("ROOT-01: a root that is not a file:// URI is rejected") {
    for (const char* uri : {"https://example.com/", "/home/me", "", "FILE", "file:"}) {
        root r;
        r.uri = uri;
        client_options options;
        options.roots = std::vector<root>{r};
        CHECK_THROWS_AS(client_under_test{options}, std::invalid_argument);
        client_under_test t;
        t.connect(modern);
        CHECK_THROWS_AS(t.client->set_roots({r}), std::invalid_argument);
    }
}

TEST_CASE(
    "ROOT-02: a change of roots sends a notification, and the next list has it; in 2026-07-28 there is no "
    "notification") {
    for (const std::string& revision : every_revision) {
        client_options options;
        options.roots.emplace();
        client_under_test t(options);
        t.connect(revision);
        CHECK(json::to_string(ask_client(t, revision, "roots/list")["result"]) == R"({"roots":[]})");
        root r;
        r.uri = "file:///new";
        t.client->set_roots({r});
        t.loop->run();
        if (revision != modern) t.expect("notifications/roots/list_changed");
        CHECK(t.silent());
        CHECK(json::to_string(ask_client(t, revision, "roots/list")["result"]) ==
              R"({"roots":[{"uri":"file:///new"}]})");
    }
}
