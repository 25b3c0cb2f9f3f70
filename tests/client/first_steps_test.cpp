// The first steps of a program: a target, a call, its result.

#include <keel/blocking_client.hpp>
#include <keel/run.hpp>
#include <keel/server.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

using namespace keel;
using namespace std::chrono_literals;

namespace {

struct point {
    int x = 0;
    int y = 0;
};
KEEL_DESCRIBE(point, x, y)

struct typed_server {
    server s{{.name = "test", .version = "1"}};
    int bumps = 0;

    typed_server() {
        s.add_tool("bump", "", [this] { return "bumped " + std::to_string(++bumps); }, {.quick = true});
        s.add_tool("mirror", "", [](point p) { return point{.x = p.y, .y = p.x}; }, {.quick = true});
        s.add_tool("lines", "",
                   [] {
                       tool_result r("one");
                       r.content.push_back(content::image_bytes("\x89PNG", "image/png"));
                       r.content.push_back(content("two").with({.priority = 1.0}));
                       return r;
                   },
                   {.quick = true});
    }
};

std::string shown(const tool_result& r) { return json::to_string(r.structured.value_or(json::value())); }

}  // namespace

TEST_CASE("a blocking client calls without arguments, and with a described struct, typed or open") {
    typed_server o;
    blocking_client client(o.s);
    client.connect();
    CHECK(client.call_tool<std::string>("bump") == "bumped 1");
    CHECK(client.call_tool<std::string>("bump", {}, call_options(10s)) == "bumped 2");
    point given{.x = 1, .y = 2};
    CHECK(shown(client.call_tool("mirror", given)) == R"({"x":2,"y":1})");
    CHECK(shown(client.call_tool("mirror", given, call_options(10s))) == R"({"x":2,"y":1})");
    // The same type in and out: the template argument is the result.
    point got = client.call_tool<point>("mirror", given);
    CHECK(got.x == 2);
    CHECK(client.call_tool<point, point>("mirror", {.x = 3, .y = 4}).x == 4);
    CHECK(shown(client.call_tool("mirror", json::object({{"x", 5}, {"y", 6}}))) == R"({"x":6,"y":5})");
}

TEST_CASE("an asynchronous client calls without arguments, and with a described struct, typed or open") {
    typed_server o;
    auto work = [&]() -> task<void> {
        client c(o.s);
        co_await c.connect();
        std::string bumped = co_await c.call_tool<std::string>("bump");
        CHECK(bumped == "bumped 1");
        bumped = co_await c.call_tool<std::string>("bump", {}, call_options(10s));
        CHECK(bumped == "bumped 2");
        point given{.x = 1, .y = 2};
        tool_result open = co_await c.call_tool("mirror", given);
        CHECK(shown(open) == R"({"x":2,"y":1})");
        point got = co_await c.call_tool<point>("mirror", given);
        CHECK(got.y == 1);
        page<tool> first = co_await c.list_tools_page();
        CHECK(first.items.size() == 3);
        co_await c.close();
    };
    run(work());
}

TEST_CASE("the first page of a list needs no cursor") {
    typed_server o;
    o.s.add_resource({.uri = "test://a", .name = "a"}, [] { return "a"; }, {.quick = true});
    o.s.add_resource_template({.uri_template = "test://{b}", .name = "b"}, [](resource_request) { return "b"; });
    o.s.add_prompt("p", "", [] { return "p"; });
    blocking_client client(o.s);
    client.connect();
    CHECK(client.list_tools_page().items.size() == 3);
    CHECK(client.list_resources_page().items.size() == 1);
    CHECK(client.list_resource_templates_page().items.size() == 1);
    CHECK(client.list_prompts_page().items.size() == 1);
}

TEST_CASE("the text of a result joins its text blocks, as in a typed call") {
    typed_server o;
    blocking_client client(o.s);
    client.connect();
    tool_result r = client.call_tool("lines");
    CHECK(r.text() == "one\ntwo");
    CHECK(r.text() == client.call_tool<std::string>("lines"));
    CHECK(tool_result().text().empty());
    REQUIRE(r.content.size() == 3);
    CHECK(r.content[1].bytes() == "\x89PNG");
    CHECK(r.content[2].is_text());
}

TEST_CASE("a string is accepted as a URL only") {
    const std::string somewhere = "https://example.com/mcp";
    CHECK(server_target("https://example.com/mcp").describe() == somewhere);
    CHECK(server_target(somewhere).describe() == somewhere);
    CHECK(server_target(std::string_view(somewhere)).describe() == somewhere);
    CHECK(server_target("HTTP://example.com").identity() == server_target("http://example.com/mcp").identity());
    CHECK(client("http://127.0.0.1:1/mcp").describe() == "http://127.0.0.1:1/mcp");
    CHECK(blocking_client(somewhere).describe() == somewhere);
    for (const char* each :
         {"", "./calculator", "calculator", "http:", "http//x", "https", "unix:///run/x.sock", "://x"}) {
        INFO("text: " << each);
        try {
            server_target t(each);
            FAIL_CHECK("it was taken for a URL");
        } catch (const std::invalid_argument& e) {
            CHECK(std::string_view(e.what()).find("keel::child_process") != std::string_view::npos);
        }
    }
}

TEST_CASE("a child process can be named in place") {
    CHECK(blocking_client({.command = "./calculator"}).describe() == "./calculator");
    CHECK(client({.command = "./calculator", .arguments = {"-x"}}).describe() == "./calculator -x");
    CHECK(client(child_process{.command = "./calculator"}, {.probe_timeout = 1s}).describe() == "./calculator");
}

TEST_CASE("all log levels are available to a client") {
    client_options options;
    options.level = log_level::warning;
    CHECK(name_of(*options.level) == "warning");
    CHECK(server_log().level == log_level::info);
}
