#include "protocol/meta_keys.hpp"

#include "protocol/trace_context.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace keel;
using namespace keel::protocol;

TEST_CASE("META-01: a key is an optional prefix and a name") {
    for (const std::string_view key :
         {"", "a", "7", "progressToken", "a-b_c.d", "io.modelcontextprotocol/clientInfo", "com.example/", "x/y",
          "x-1.y2/0", "a--b/c", "COM.Example/Name", "a.b.c.d.e/f..g"}) {
        CAPTURE(key);
        CHECK(is_valid_meta_key(key));
    }
    for (const std::string_view key :
         {"-a",   "a-",   "_a",   "a.",    ".a",  "a b",   "/a",   "./a",  "a./b",        ".a/b", "a..b/c",
          "1a/b", "a-/b", "-a/b", "a/b/c", "a//", "a_b/c", "a/-b", "a/b_", "caf\xc3\xa9", "a\n",  "a/ b"}) {
        CAPTURE(key);
        CHECK(!is_valid_meta_key(key));
    }
    CHECK(!is_valid_meta_key(std::string_view("a\0b", 3)));
}

TEST_CASE("META-01: prefixes whose second label is \"modelcontextprotocol\" or \"mcp\" are reserved") {
    for (const std::string_view key :
         {"io.modelcontextprotocol/x", "dev.mcp/", "org.modelcontextprotocol.api/x", "com.mcp.tools/a"}) {
        CAPTURE(key);
        CHECK(is_reserved_meta_key(key));
        CHECK(is_reserved_meta_key(key, revision::r2025_11_25));
    }
    for (const std::string_view key :
         {"com.example.mcp/x", "mcp/x", "mcp.dev/x", "mcp", "com.mcpx/y", "com.example/mcp", "io.mcp", "io.mcp/-"}) {
        CAPTURE(key);
        CHECK(!is_reserved_meta_key(key));
    }
}

TEST_CASE("META-01: 2025-06-18 reserves the label wherever another one follows") {
    constexpr auto old = revision::r2025_06_18;
    for (const std::string_view key :
         {"modelcontextprotocol.io/x", "mcp.dev/", "api.modelcontextprotocol.org/", "tools.mcp.com/a"}) {
        CAPTURE(key);
        CHECK(is_reserved_meta_key(key, old));
    }
    CHECK(!is_reserved_meta_key("io.modelcontextprotocol/x", old));
    CHECK(!is_reserved_meta_key("mcp/x", old));
    CHECK(!is_reserved_meta_key("mcp.dev/x", revision::r2025_03_26));
}

TEST_CASE("VER-05: an extension id is a key with a prefix") {
    CHECK(is_valid_extension_id("io.modelcontextprotocol/tasks"));
    CHECK(is_valid_extension_id("com.example/a.b"));
    CHECK(!is_valid_extension_id("tasks"));
    CHECK(!is_valid_extension_id(""));
    CHECK(!is_valid_extension_id("/tasks"));
    CHECK(!is_valid_extension_id("com.example/tasks/2"));
    CHECK(!is_valid_extension_id("com..example/tasks"));
}

namespace {

constexpr std::string_view trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr std::string_view parent_id = "00f067aa0ba902b7";

std::string parent(std::string_view version, std::string_view trace, std::string_view span, std::string_view flags) {
    std::string out(version);
    for (std::string_view part : {trace, span, flags}) out.append("-").append(part);
    return out;
}

}  // namespace

TEST_CASE("META-03: a traceparent has a version, two non-zero ids, and flags") {
    CHECK(is_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
    CHECK(is_traceparent(parent("00", trace_id, parent_id, "ff")));
    CHECK(is_traceparent(parent("cc", trace_id, parent_id, "00")));
    CHECK(is_traceparent(parent("01", trace_id, parent_id, "00-what-comes-later")));

    CHECK(!is_traceparent(""));
    CHECK(!is_traceparent(parent("ff", trace_id, parent_id, "01")));
    CHECK(!is_traceparent(parent("00", trace_id, parent_id, "01-more")));
    CHECK(!is_traceparent(parent("00", trace_id, parent_id, "01-")));
    CHECK(!is_traceparent(parent("01", trace_id, parent_id, "01more")));
    CHECK(!is_traceparent(parent("01", trace_id, parent_id, "01-" + std::string(1000, 'a'))));
    CHECK(!is_traceparent(parent("01", trace_id, parent_id, "01-a b")));
    CHECK(!is_traceparent(parent("00", std::string(32, '0'), parent_id, "01")));
    CHECK(!is_traceparent(parent("00", trace_id, std::string(16, '0'), "01")));
    CHECK(!is_traceparent(parent("00", "4BF92F3577B34DA6A3CE929D0E0E4736", parent_id, "01")));
    CHECK(!is_traceparent(parent("0x", trace_id, parent_id, "01")));
    CHECK(!is_traceparent(parent("00", trace_id, parent_id, "0g")));
    CHECK(!is_traceparent(parent("00", trace_id.substr(1), parent_id, "01")));
    CHECK(!is_traceparent("00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
}

TEST_CASE("META-03: a tracestate is a list of unique keys with values") {
    CHECK(is_tracestate("congo=t61rcWkgMzE"));
    CHECK(is_tracestate("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"));
    CHECK(is_tracestate("a=1 ,\t b=2 , ,c=a b"));
    CHECK(is_tracestate("tenant@system=1,0_-*/=x"));
    CHECK(is_tracestate("a=" + std::string(256, 'x')));

    for (const std::string_view text :
         {"", " ", ",", "a", "a=", "=1", "A=1", "a=1,a=2", "a =1", "a=b=c", "a=\x01", "a=caf\xc3\xa9", "-a=1"}) {
        CAPTURE(text);
        CHECK(!is_tracestate(text));
    }
    CHECK(!is_tracestate("a=" + std::string(257, 'x')));
    std::string many;
    for (int i = 0; i < 32; ++i) many += "k" + std::to_string(i) + "=1,";
    CHECK(is_tracestate(many));
    CHECK(!is_tracestate(many + "one=more"));
    CHECK(!is_tracestate(std::string(512, ' ') + "a=1"));
}

TEST_CASE("META-03: baggage is a list of keys, values and properties") {
    CHECK(is_baggage("userId=alice"));
    CHECK(is_baggage("userId = alice , serverNode=DF%2028,isProduction=false"));
    CHECK(is_baggage("key1=value1;property1;property2=x, key2=, key3=a=b ; p = q"));

    for (const std::string_view text :
         {"", " ", ",", "a", "a=1,", ",a=1", "a=1,,b=2", "=1", "a b=1", "a=1 2", "a=\"x\"", "a=\\", "a=1;", "a=1;;b",
          "a=caf\xc3\xa9", "a=\n", "a/b=1", "a=1;=2"}) {
        CAPTURE(text);
        CHECK(!is_baggage(text));
    }
    std::string many = "k=1";
    for (int i = 1; i < 180; ++i) many += ",k=1";
    CHECK(is_baggage(many));
    CHECK(!is_baggage(many + ",k=1"));
    CHECK(is_baggage("a=" + std::string(8190, 'x')));
    CHECK(!is_baggage("a=" + std::string(8191, 'x')));
}

TEST_CASE("META-03: only valid members of _meta are kept") {
    const std::string good = parent("00", trace_id, parent_id, "01");
    const auto meta = json::object({{"traceparent", good}, {"tracestate", "a=1"}, {"baggage", "k=v"}, {"other", 1}});
    CHECK(read_trace_context(meta) == trace_context{good, "a=1", "k=v"});

    json::value bad_parent = meta;
    bad_parent.set("traceparent", "00-x");
    CHECK(read_trace_context(bad_parent) == trace_context{"", "", "k=v"});
    CHECK(!read_trace_context(bad_parent).empty());

    json::value bad_state = meta;
    bad_state.set("tracestate", 7);
    bad_state.set("baggage", json::array({"k=v"}));
    CHECK(read_trace_context(bad_state) == trace_context{good, "", ""});

    CHECK(read_trace_context({}).empty());
    CHECK(read_trace_context("text").empty());
    CHECK(read_trace_context(json::object()).empty());
}
