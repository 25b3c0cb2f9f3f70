// Rules about which features are offered and how they are refused, in each revision that has them.

#include "feature_server.hpp"
#include "protocol/meta_keys.hpp"

#include <set>

namespace {

using namespace keel::test;
namespace json = keel::json;

/// The keys of every _meta in a message, at any depth.
void meta_keys_of(const json::value& v, std::set<std::string>& keys) {
    if (v.is_array()) {
        for (const json::value& each : v.items()) meta_keys_of(each, keys);
    } else if (v.is_object()) {
        for (const json::member& m : v.members()) {
            if (m.key() == "_meta") {
                for (const json::member& inner : m.content.members()) keys.emplace(inner.key());
            }
            meta_keys_of(m.content, keys);
        }
    }
}

keel::resource at(std::string uri, json::value meta = {}) {
    keel::resource r;
    r.name = "x";
    r.uri = std::move(uri);
    r.meta = std::move(meta);
    return r;
}

void put(feature_server& s, const std::string& name) {
    s.tool(name, [name] { return name; }, {.quick = true});
}

std::string text_in(const json::value& answer) {
    return std::string(answer["result"]["content"].at(0)["text"].as_string());
}

}  // namespace

TEST_CASE("META-01: every _meta key that is sent is valid, and an entry with an invalid key is refused") {
    for (std::string_view version : {"2025-06-18", "2025-11-25", "2026-07-28"}) {
        CAPTURE(version);
        feature_server s;
        json::value good = json::object({{"com.example/a-b", 1}, {"plain", 2}, {"com.example/", 3}});
        s.add_resource(at("test://x", good), [] { return "x"; });
        for (const char* bad : {"a b", "-a", "a/b/c", "1a/b", "a_b/c", "a..b/c"}) {
            CAPTURE(bad);
            CHECK(refusal_of([&] { s.add_resource(at("test://y", json::object({{bad, 1}})), [] { return "y"; }); }) ==
                  "keel: resource \"test://y\": meta: \"" + std::string(bad) + "\" is not a valid key");
        }
        s.tool("asking", [](keel::context& ctx) {
            ctx.progress(1);
            return "done";
        });
        s.speak(version);
        CHECK(s.ask("resources/list")["result"]["resources"].at(0)["_meta"] == good);
        CHECK(s.read("test://x")["result"]["contents"].size() == 1);
        CHECK(text_in(s.ask("tools/call", R"("name":"asking")")) == "done");
        std::set<std::string> keys;
        for (const std::string& line : s.seen.all()) meta_keys_of(json::parse(line), keys);
        CHECK(keys.contains("com.example/a-b"));
        for (const std::string& key : keys) CHECK_MESSAGE(keel::protocol::is_valid_meta_key(key), key);
    }
}

TEST_CASE(
    "TOOL-08: names of 1 to 128 letters, digits, '_', '-' and '.' are accepted unchanged, and duplicates refused") {
    for (std::string_view version : {"2025-11-25", "2026-07-28"}) {
        CAPTURE(version);
        feature_server s;
        const std::vector<std::string> good = {"a", "A", "Az09_-.", "-", std::string(128, 'n')};
        for (const std::string& name : good) put(s, name);
        for (const std::string& name : {std::string(), std::string(129, 'n'), std::string("a b"), std::string("a/b"),
                                        std::string("gr\xc3\xbc\xc3\x9f"), std::string("a\n")}) {
            CAPTURE(name);
            CHECK(refusal_of([&] { put(s, name); }).find("name: ") != std::string::npos);
        }
        CHECK(!refusal_of([&] { put(s, "A"); }).empty());  // that name exists already
        s.speak(version);
        CHECK(s.list_all("tools/list", "tools", "name").names == good);
        for (const std::string& name : good) CHECK(text_in(s.ask("tools/call", R"("name":")" + name + '"')) == name);
        CHECK(s.error_of(s.ask("tools/call", R"("name":"az09_-.")")).starts_with("-32602 "));
    }
}

TEST_CASE("RES-06: custom URI schemes are accepted, and invalid URIs refused") {
    for (std::string_view version : {"2025-06-18", "2025-11-25", "2026-07-28"}) {
        CAPTURE(version);
        feature_server s;
        const std::vector<std::string> good = {"x:", "note+v1://a%20b/c?d#e", "urn:isbn:0451450523", "A-b.c+1:z"};
        for (const std::string& uri : good) s.add_resource(at(uri), [] { return "x"; });
        for (const std::string& bad :
             {std::string("no-scheme"), std::string("1a:b"), std::string("a_b:c"), std::string("a b:c"),
              std::string("x:%zz"), std::string("x:a b"), std::string("x:<a>"), std::string("x:gr\xc3\xbc\xc3\x9f")}) {
            CAPTURE(bad);
            CHECK(refusal_of([&] { s.add_resource(at(bad), [] { return "x"; }); }).find("uri: invalid URI") !=
                  std::string::npos);
        }
        s.speak(version);
        CHECK(s.list_all("resources/list", "resources", "uri").names == good);
        for (const std::string& uri : good) CHECK(s.read(uri)["result"]["contents"].at(0)["text"] == json::value("x"));
    }
}

TEST_CASE("BASE-15, BASE-21: the library's own errors in 2026-07-28 use only codes of the protocol") {
    server_settings how;
    how.bounds.max_in_flight = 1;
    feature_server s(how);
    gate stay;
    s.tool("wait", [&](keel::context&) -> keel::task<std::string> {
        co_await stay.pass();
        co_return "done";
    });
    s.tool("throw", []() -> std::string { throw std::runtime_error("x"); }, {.quick = true});
    s.tool("ask", [](keel::context& ctx) -> keel::task<std::string> {
        auto roots = co_await ctx.list_roots();
        co_return std::to_string(roots.size());
    });
    s.add_resource("test://x", [] { return "x"; });
    s.speak("2026-07-28");
    for (const char* params : {R"("name":"throw")", R"("name":"ask")", R"("name":"nobody")", R"("name":7)", ""}) {
        s.ask("tools/call", params);
    }
    s.ask("no/such");
    s.ask("tools/list", R"("cursor":"bad")");
    s.read("test://nobody");
    s.read("");
    s.ask("completion/complete");
    s.ask("subscriptions/listen", R"("notifications":7)");
    s.send(request_line("\"v\"", "tools/list", "{" + meta_with("\"1999-01-01\"") + "}"));
    s.send(request_line("\"c\"", "tools/list", "{" + meta_with("\"2026-07-28\"", "7") + "}"));
    s.send("oops");
    s.send("[]");
    s.send(modern_call_line("\"w\"", "wait"));
    s.send(modern_call_line("\"too many\"", "wait"));
    s.open(stay);
    std::set<std::int64_t> codes;
    for (const std::string& line : s.seen.all()) {
        json::value message = json::parse(line);
        if (message.contains("error")) codes.insert(message["error"]["code"].as_int());
    }
    CHECK(codes == std::set<std::int64_t>{-32700, -32600, -32601, -32602, -32603, -32021, -32022});
}
