#include "client/response_cache.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

using namespace keel;
using namespace std::chrono_literals;
using client_side::response_cache;

namespace {

const time_point start{std::chrono::hours(1)};
const json::value none = json::object();

json::value named(std::string_view name, json::value ttl = 60'000) {
    return json::object(
        {{"resultType", "complete"}, {"name", name}, {"ttlMs", std::move(ttl)}, {"cacheScope", "public"}});
}
json::value cursor(std::string_view c) { return json::object({{"cursor", c}}); }
json::value uri(std::string_view u) { return json::object({{"uri", u}}); }

/// A cache, and a lookup in it: the name of the result, or "-".
struct cache_under_test {
    response_cache cache;

    explicit cache_under_test(cache_settings bounds = {}) : cache(bounds) {}
    void keep(std::string_view method, const json::value& params, const json::value& result,
              std::string_view who = "") {
        cache.keep(method, params, who, result, start, cache.moment());
    }
    std::string found(std::string_view method, const json::value& params, std::string_view who = "",
                      time_point now = start) {
        auto kept = cache.find(method, params, who, now);
        return kept ? std::string((*kept)["name"].as_string()) : "-";
    }
};

}  // namespace

TEST_CASE("CACHE-03 a result is returned for the same method and parameters only") {
    cache_under_test s;
    s.keep("tools/list", none, named("first"));
    s.keep("tools/list", cursor("2"), named("second"));
    s.keep("tools/list", cursor(""), named("empty cursor"));
    s.keep("resources/read", uri("file:///a"), named("a"));

    CHECK(s.found("tools/list", none) == "first");
    CHECK(s.found("tools/list", json::value()) == "first");
    CHECK(s.found("tools/list", cursor("2")) == "second");
    CHECK(s.found("tools/list", cursor("")) == "empty cursor");
    CHECK(s.found("tools/list", cursor("3")) == "-");
    CHECK(s.found("prompts/list", none) == "-");
    CHECK(s.found("prompts/list", cursor("2")) == "-");
    CHECK(s.found("resources/read", uri("file:///a")) == "a");
    CHECK(s.found("resources/read", uri("file:///A")) == "-");
    CHECK(s.found("tools/list", json::object({{"cursor", 2}})) == "-");
    CHECK(s.found("tools/list", json::object({{"flavour", "x"}})) == "-");
}

TEST_CASE("CACHE-03 requests with unknown parameters are not cached") {
    cache_under_test s;
    s.keep("tools/list", json::object({{"flavour", "x"}}), named("odd"));
    s.keep("tools/list", json::object({{"_meta", json::object({{"com.example/tenant", "x"}})}}), named("odd"));
    s.keep("tools/call", json::object({{"name", "x"}}), named("odd"));
    s.keep("prompts/get", json::object({{"name", "x"}}), named("odd"));
    CHECK(s.cache.entries() == 0);
}

TEST_CASE("CACHE-03 the usual _meta entries of a request are not part of the key") {
    cache_under_test s;
    const json::value meta = json::object({{"io.modelcontextprotocol/protocolVersion", "2026-07-28"},
                                           {"io.modelcontextprotocol/clientCapabilities", json::object()},
                                           {"progressToken", 7},
                                           {"traceparent", "00-1-2-01"}});
    s.keep("tools/list", json::object({{"_meta", meta}}), named("first"));
    CHECK(s.found("tools/list", none) == "first");
}

TEST_CASE("every cacheable method is cached, including server/discover") {
    cache_under_test s;
    for (std::string_view method :
         {"server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list"}) {
        s.keep(method, none, named(method));
        CHECK(s.found(method, none) == method);
    }
}

TEST_CASE(
    "CACHE-04 the result of a request with input responses or state is not cached, nor is an input_required "
    "result") {
    cache_under_test s;
    json::value answered = uri("file:///a");
    SUBCASE("answers") { answered.set("inputResponses", json::object()); }
    SUBCASE("state") { answered.set("requestState", "s"); }
    s.keep("resources/read", answered, named("a"));
    json::value question = named("q");
    question.set("resultType", "input_required");
    s.keep("resources/read", uri("file:///a"), question);
    CHECK(s.cache.entries() == 0);

    // Such a request does not get the cached result of the plain one either.
    s.keep("resources/read", uri("file:///a"), named("plain"));
    CHECK(s.found("resources/read", answered) == "-");
}

TEST_CASE("CACHE-05 an entry belongs to its authorization context") {
    cache_under_test s;
    json::value secret = named("alice's");
    secret.set("cacheScope", "private");
    s.keep("tools/list", none, secret, "alice");
    CHECK(s.found("tools/list", none, "alice") == "alice's");
    CHECK(s.found("tools/list", none, "bob") == "-");
    CHECK(s.found("tools/list", none) == "-");
    s.keep("tools/list", none, named("bob's"), "bob");
    CHECK(s.found("tools/list", none, "alice") == "alice's");
    CHECK(s.found("tools/list", none, "bob") == "bob's");
}

TEST_CASE("CACHE-07 an entry is fresh until its time, exclusively") {
    cache_under_test s;
    s.keep("tools/list", none, named("x", 1000));
    CHECK(s.found("tools/list", none, "", start + 999ms) == "x");
    CHECK(s.found("tools/list", none, "", start + 1000ms) == "-");
    CHECK(s.cache.entries() == 0);  // and is removed
}

TEST_CASE("CACHE-07 absent, negative and invalid times mean stale immediately") {
    cache_under_test s;
    for (const json::value& ttl :
         {json::value(), json::value(0), json::value(-5), json::value(-1e300), json::value("60000"), json::value(true),
          json::value(0.5), json::value(1.5), json::value(UINT64_MAX), json::value(0x1p63), json::value(1e300),
          json::value(json::array()), json::value(json::object())}) {
        INFO(json::to_string(ttl));
        s.keep("tools/list", none, named("x", ttl));
        CHECK(s.found("tools/list", none) == "-");
    }
    json::value without = named("x");
    without.erase("ttlMs");
    s.keep("tools/list", none, without);
    CHECK(s.found("tools/list", none) == "-");
}

TEST_CASE("CACHE-07 a time beyond the clock's range never expires") {
    cache_under_test s;
    for (const json::value& ttl : {json::value(INT64_MAX), json::value(1e18)}) {
        s.keep("tools/list", none, named("x", ttl));
        CHECK(s.found("tools/list", none, "", start + 24h * 365 * 100) == "x");
        s.cache.clear();
    }
}

TEST_CASE("CACHE-07 a result with an invalid scope is not stored") {
    cache_under_test s;
    for (const json::value& scope : {json::value(), json::value("shared"), json::value("PUBLIC"), json::value(""),
                                     json::value(1), json::value(json::array())}) {
        INFO(json::to_string(scope));
        json::value result = named("x", 1000);
        result.set("cacheScope", scope);
        s.keep("tools/list", none, result);
        CHECK(s.found("tools/list", none) == "-");
    }
    json::value without = named("x", 1000.0);  // an integer, too
    without.erase("cacheScope");
    s.keep("tools/list", none, without);
    CHECK(s.found("tools/list", none) == "x");
}

TEST_CASE("CACHE-07 a stale result replaces the older one, too") {
    cache_under_test s;
    s.keep("tools/list", none, named("old"));
    s.keep("tools/list", none, named("new", 0));
    CHECK(s.found("tools/list", none) == "-");
}

TEST_CASE("CACHE-09 a notification invalidates all pages it refers to, and nothing else") {
    cache_under_test s;
    for (std::string_view list : {"tools/list", "prompts/list", "resources/list", "resources/templates/list"}) {
        s.keep(list, none, named("1"));
        s.keep(list, cursor("2"), named("2"), "somebody");
    }
    s.keep("resources/read", uri("file:///a"), named("a"));
    s.keep("resources/read", uri("file:///a/b"), named("b"));
    s.keep("server/discover", none, named("d"));
    REQUIRE(s.cache.entries() == 11);

    s.cache.on_notification("notifications/tools/list_changed", none);
    CHECK(s.found("tools/list", none) == "-");
    CHECK(s.found("tools/list", cursor("2"), "somebody") == "-");
    CHECK(s.cache.entries() == 9);
    s.cache.on_notification("notifications/prompts/list_changed", none);
    CHECK(s.found("prompts/list", none) == "-");
    CHECK(s.cache.entries() == 7);
    s.cache.on_notification("notifications/resources/list_changed", none);
    CHECK(s.found("resources/list", none) == "-");
    CHECK(s.found("resources/templates/list", cursor("2"), "somebody") == "-");
    CHECK(s.cache.entries() == 3);
    s.cache.on_notification("notifications/resources/updated", uri("file:///a"));
    CHECK(s.found("resources/read", uri("file:///a")) == "-");
    CHECK(s.found("resources/read", uri("file:///a/b")) == "b");

    s.cache.on_notification("notifications/resources/updated", none);  // without a URI
    s.cache.on_notification("notifications/message", none);
    CHECK(s.cache.entries() == 2);
}

TEST_CASE("CACHE-09 a result that was requested before a change is not stored after it") {
    cache_under_test s;
    const auto asked = s.cache.moment();
    s.cache.on_notification("notifications/tools/list_changed", none);
    s.cache.keep("tools/list", none, "", named("before the change"), start, asked);
    CHECK(s.found("tools/list", none) == "-");
    s.cache.keep("prompts/list", none, "", named("not concerned"), start, asked);
    CHECK(s.found("prompts/list", none) == "not concerned");
    s.cache.keep("tools/list", none, "", named("after it"), start, s.cache.moment());
    CHECK(s.found("tools/list", none) == "after it");
}

TEST_CASE("CACHE-10 a rejected cursor drops all pages of its list") {
    cache_under_test s;
    s.keep("tools/list", none, named("1"));
    s.keep("tools/list", cursor("2"), named("2"));
    s.keep("prompts/list", none, named("p"));
    s.cache.drop_list("tools/list");
    CHECK(s.found("tools/list", none) == "-");
    CHECK(s.found("tools/list", cursor("2")) == "-");
    CHECK(s.found("prompts/list", none) == "p");
    s.cache.drop_list("no/such/list");
    CHECK(s.cache.entries() == 1);
}

TEST_CASE("the least recently used entry is dropped first") {
    cache_under_test s({.max_entries = 2});
    s.keep("resources/read", uri("a"), named("a"));
    s.keep("resources/read", uri("b"), named("b"));
    CHECK(s.found("resources/read", uri("a")) == "a");
    s.keep("resources/read", uri("c"), named("c"));
    CHECK(s.found("resources/read", uri("b")) == "-");
    CHECK(s.found("resources/read", uri("a")) == "a");
    CHECK(s.found("resources/read", uri("c")) == "c");
}

TEST_CASE("the cache respects its byte limit, and stores nothing larger than a quarter of it") {
    cache_under_test s({.max_bytes = 10'000});
    json::value large = named("large");
    large.set("text", std::string(2500, 'x'));
    s.keep("resources/read", uri("large"), large);
    CHECK(s.cache.entries() == 0);
    CHECK(s.cache.bytes() == 0);

    json::value medium = named("medium");
    medium.set("text", std::string(1500, 'x'));
    for (int i = 0; i < 50; ++i) {
        s.keep("resources/read", uri(std::to_string(i)), medium);
        CHECK(s.cache.bytes() <= 10'000);
    }
    CHECK(s.cache.entries() > 2);
    CHECK(s.found("resources/read", uri("49")) == "medium");
    CHECK(s.found("resources/read", uri("0")) == "-");
    s.cache.clear();
    CHECK(s.cache.bytes() == 0);
    CHECK(s.found("resources/read", uri("49")) == "-");
}

TEST_CASE("a result in use outlives its entry, and a borrowed one its document") {
    cache_under_test s;
    {
        json::document document;
        const std::string text = R"({"name":"borrowed","ttlMs":1000})";
        s.keep("tools/list", none, *document.read(text));
    }
    auto kept = s.cache.find("tools/list", none, "", start);
    s.cache.clear();
    REQUIRE(kept);
    CHECK((*kept)["name"].as_string() == "borrowed");
}

TEST_CASE("a disabled cache stores nothing") {
    cache_under_test off({.enabled = false});
    off.keep("tools/list", none, named("x"));
    CHECK(off.cache.entries() == 0);
    cache_under_test no_room({.max_entries = 0});
    no_room.keep("tools/list", none, named("x"));
    CHECK(no_room.cache.entries() == 0);
}
