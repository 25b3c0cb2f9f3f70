// Schemas of tools, in the revisions with rules for them. tests/schema tests the validator; these tests check that
// calls are validated and that a tool with an invalid schema is rejected.

#include "feature_server.hpp"
#include "support/descriptors.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cerrno>

namespace {

using namespace keel::test;
namespace json = keel::json;

constexpr std::string_view with_2020_12[] = {"2025-11-25", "2026-07-28"};

void put(feature_server& s, const std::string& name, const json::value& schema) {
    keel::detail::tool_entry entry;
    entry.about.name = name;
    entry.about.input_schema = schema;
    entry.handler.quick = true;
    entry.handler.plain = [](keel::context*, const json::value&, keel::detail::reply& out) {
        keel::detail::write_text(out, "fits");
    };
    s.core->tools.put(std::make_shared<const keel::server_side::tool>(std::move(entry)), false);
}

std::string refusal(feature_server& s, std::string_view schema) {
    return refusal_of([&] { put(s, "refused", json::parse(schema)); });
}

/// The outcome of a call: "fits", or why its arguments are invalid.
std::string call(feature_server& s, std::string_view tool, std::string_view arguments) {
    json::value answer =
        s.ask("tools/call", R"("name":")" + std::string(tool) + R"(","arguments":)" + std::string(arguments));
    return std::string(answer["result"]["content"].at(0)["text"].as_string());
}

std::vector<std::string> listed(feature_server& s) { return s.list_all("tools/list", "tools", "name").names; }

std::string nested(int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += R"({"in":)";
    text += "{}";
    return text + std::string(static_cast<std::size_t>(depth), '}');
}

/// A listener that would notice if a schema were fetched.
class web_server {
public:
    web_server() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
        sockaddr_in at = {};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof at;
        auto* address = reinterpret_cast<sockaddr*>(&at);
        REQUIRE(::bind(socket_.get(), address, size) == 0);
        REQUIRE(::listen(socket_.get(), 4) == 0);
        REQUIRE(::getsockname(socket_.get(), address, &size) == 0);
        url_ = "http://127.0.0.1:" + std::to_string(ntohs(at.sin_port)) + "/schema.json";
    }
    const std::string& url() const { return url_; }
    bool was_asked() const {
        descriptor visitor(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        return visitor.get() >= 0 || errno != EAGAIN;
    }

private:
    descriptor socket_;
    std::string url_;
};

}  // namespace

TEST_CASE("SCH-01: arguments are validated with JSON Schema 2020-12, also if the schema names no dialect") {
    for (std::string_view version : with_2020_12) {
        CAPTURE(version);
        feature_server s;
        // Older drafts ignore "prefixItems" and "dependentRequired".
        const json::value schema = json::parse(
            R"({"type":"object","properties":{"list":{"prefixItems":[{"type":"string"}]}},"dependentRequired":{"a":["b"]}})");
        json::value declared = schema;
        declared.set("$schema", "https://json-schema.org/draft/2020-12/schema");
        put(s, "silent", schema);
        put(s, "declared", declared);
        s.speak(version);
        for (const char* tool : {"silent", "declared"}) {
            CAPTURE(tool);
            CHECK(call(s, tool, R"({"list":["x",1]})") == "fits");
            CHECK(call(s, tool, R"({"list":[1]})").find("list[0]: expected string") != std::string::npos);
            CHECK(call(s, tool, R"({"a":1})") != "fits");
            CHECK(call(s, tool, R"({"a":1,"b":1})") == "fits");
        }
    }
}

TEST_CASE("SCH-02: arguments are validated in the dialect that the input schema names") {
    // An array of "items" is invalid in 2020-12, and "dependencies" is for draft-07 only.
    const std::string rest =
        R"(,"type":"object","properties":{"list":{"items":[{"$ref":"#/definitions/s"}],"additionalItems":false}},)"
        R"("definitions":{"s":{"type":"string"}},"dependencies":{"a":["b"]}})";
    for (std::string_view version : with_2020_12) {
        CAPTURE(version);
        feature_server s;
        put(s, "draft-07", json::parse(R"({"$schema":"http://json-schema.org/draft-07/schema#")" + rest));
        put(s, "2019-09", json::parse(R"({"$schema":"https://json-schema.org/draft/2019-09/schema")" + rest));
        s.speak(version);
        for (const char* tool : {"draft-07", "2019-09"}) {
            CAPTURE(tool);
            CHECK(call(s, tool, R"({"list":["x"]})") == "fits");
            CHECK(call(s, tool, R"({"list":[1]})").find("list[0]: expected string") != std::string::npos);
            CHECK(call(s, tool, R"({"list":["x",1]})").find("list[1]: not allowed") != std::string::npos);
        }
        CHECK(call(s, "draft-07", R"({"a":1})").find("b: required because of") != std::string::npos);
        CHECK(call(s, "2019-09", R"({"a":1})") == "fits");
    }
}

TEST_CASE(
    "SCH-02: a tool with an unsupported dialect or an invalid schema is refused with its name, the others are "
    "registered") {
    for (std::string_view version : with_2020_12) {
        CAPTURE(version);
        feature_server s;
        put(s, "good", json::parse(R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"})"));
        CHECK(refusal(s, R"({"$schema":"http://json-schema.org/draft-04/schema#","type":"object"})")
                  .find("unsupported dialect \"http://json-schema.org/draft-04/schema#\"") != std::string::npos);
        CHECK(refusal(s, R"({"type":"object","properties":{"a":{"type":"text"}}})").find("/properties/a/type") !=
              std::string::npos);
        s.speak(version);
        CHECK(listed(s) == std::vector<std::string>{"good"});
        json::value tool = s.ask("tools/list")["result"]["tools"].at(0);
        CHECK(tool["inputSchema"]["$schema"] == json::value("https://json-schema.org/draft/2020-12/schema"));
        CHECK(call(s, "good", R"({"any":1})") == "fits");
    }
}

TEST_CASE("SCH-03, SCH-06: remote schemas are not fetched, and a tool that refers to one is refused") {
    web_server elsewhere;
    feature_server s;
    CHECK(refusal(s, R"({"type":"object","properties":{"a":{"$ref":")" + elsewhere.url() + R"("}}})")
              .find(elsewhere.url()) != std::string::npos);
    CHECK(refusal(s, R"({"type":"object","properties":{"a":{"$ref":"#/$defs/missing"}}})").find("#/$defs/missing") !=
          std::string::npos);
    // Within the document: by a pointer and by an anchor.
    put(s, "local",
        json::parse(R"({"type":"object","properties":{"a":{"$ref":"#/$defs/x"},"b":{"$ref":"#y"}},)"
                    R"("$defs":{"x":{"type":"integer"},"y":{"$anchor":"y","type":"string"}}})"));
    s.speak("2026-07-28");
    CHECK(listed(s) == std::vector<std::string>{"local"});
    CHECK(call(s, "local", R"({"a":1,"b":"x"})") == "fits");
    CHECK(call(s, "local", R"({"a":"x"})").find("a: expected integer") != std::string::npos);
    CHECK(call(s, "local", R"({"b":1})").find("b: expected string") != std::string::npos);
    CHECK_FALSE(elsewhere.was_asked());
}

TEST_CASE("SCH-07: a call whose validation would take too long is refused, and the next one is served") {
    feature_server s;
    // Each level tries both halves of the next one: 2^40 combinations.
    std::string explosion = R"({"type":"object","properties":{"x":{"$ref":"#/$defs/n0"}},"$defs":{)";
    for (int i = 0; i != 40; ++i) {
        const std::string next = R"({"$ref":"#/$defs/n)" + std::to_string(i + 1) + "\"}";
        explosion += "\"n" + std::to_string(i) + R"(":{"anyOf":[)" + next + "," + next + "]},";
    }
    put(s, "wide", json::parse(explosion + R"("n40":false}})"));
    put(s, "deep", json::parse(R"({"type":"object","properties":{"in":{"$ref":"#"}}})"));
    s.speak("2026-07-28");
    CHECK(call(s, "wide", R"({"x":1})").find("work limit exceeded") != std::string::npos);
    CHECK(call(s, "wide", R"({"y":1})") == "fits");
    CHECK(call(s, "deep", nested(20)) == "fits");
    CHECK(call(s, "deep", nested(90)).find("nested too deeply") != std::string::npos);
    CHECK(call(s, "deep", nested(1)) == "fits");
}
