#include "line_client.hpp"

#include <keel/server.hpp>

#include <chrono>
#include <latch>
#include <limits>
#include <thread>

namespace json = keel::json;
using namespace std::chrono_literals;

namespace {

struct pair_args {
    int a = 0;
    std::optional<int> b;
};
KEEL_DESCRIBE(pair_args, a, b)

struct nested_args {
    std::vector<pair_args> items;
};
KEEL_DESCRIBE(nested_args, items)

struct sum_result {
    int sum = 0;
};
KEEL_DESCRIBE(sum_result, sum)

keel::task<sum_result> add_slowly(keel::context& ctx, pair_args in) {
    co_await ctx.yield();
    sum_result r{in.a + in.b.value_or(0)};
    co_return r;
}

struct fixture {
    fixture() { server.start(keel::endpoint::unix_socket(path)); }
    std::string path = fresh_socket_path();
    keel::server server{{.name = "test", .version = "1"}};
};

json::value find_tool(const json::value& list, std::string_view name) {
    for (const json::value& t : list["result"]["tools"].items()) {
        if (t["name"] == json::value(name)) return t;
    }
    return {};
}

}  // namespace

TEST_CASE("every signature of a typed tool runs and returns the content of its type") {
    fixture f;
    f.server.add_tool("nothing", "", [] { return "text"; });
    f.server.add_tool("context", "", [](keel::context& ctx) { return std::string(ctx.protocol_version()); });
    f.server.add_tool("arguments", "", [](const pair_args& in) { return in.a; }, {.quick = true});
    f.server.add_tool("both", "", [](keel::context&, pair_args in) { return in.a + 0.5; }, {.quick = true});
    f.server.add_tool("truth", "", [] { return true; });
    f.server.add_tool("content", "", [] { return keel::content::image("aGk=", "image/png"); });
    f.server.add_tool("several", "", [] { return std::vector<keel::content>{"one", "two"}; });
    f.server.add_tool("structured", "", [](pair_args in) { return sum_result{in.a}; });
    f.server.add_tool("coroutine", "", &add_slowly);
    f.server.add_tool("failed", "", [] { return keel::tool_result::failure("no"); });

    line_client c(f.path);
    c.open_session();
    CHECK(text_of(c.call(1, "nothing")) == "text");
    CHECK(text_of(c.call(2, "context")) == "2025-11-25");
    CHECK(text_of(c.call(3, "arguments", R"({"a":7})")) == "7");
    CHECK(text_of(c.call(4, "both", R"({"a":7})")) == "7.5");
    CHECK(text_of(c.call(5, "truth")) == "true");
    CHECK(c.call(6, "content")["result"]["content"].at(0)["mimeType"] == json::value("image/png"));
    CHECK(c.call(7, "several")["result"]["content"].size() == 2);
    json::value structured = c.call(8, "structured", R"({"a":7})");
    CHECK(structured["result"]["structuredContent"] == json::parse(R"({"sum":7})"));
    CHECK(text_of(structured) == R"({"sum":7})");
    CHECK(c.call(9, "coroutine", R"({"a":1,"b":2})")["result"]["structuredContent"] == json::parse(R"({"sum":3})"));
    CHECK(c.call(10, "failed")["result"]["isError"] == json::value(true));
}

TEST_CASE("TOOL-03 TOOL-04 TOOL-07: schemas are derived from the types, in a stable order") {
    fixture f;
    f.server.add_tool("z", "last letter", &add_slowly);
    f.server.add_tool("a", "first letter", [] { return "x"; }, {.title = "An A"});
    line_client c(f.path);
    c.open_session();
    json::value list = c.ask(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
    CHECK(list["result"]["tools"].at(0)["name"] == json::value("z"));
    CHECK(list["result"]["tools"].at(1)["name"] == json::value("a"));
    json::value z = find_tool(list, "z");
    CHECK(z["inputSchema"]["type"] == json::value("object"));
    CHECK(z["inputSchema"]["required"] == json::parse(R"(["a"])"));
    CHECK(z["outputSchema"]["required"] == json::parse(R"(["sum"])"));
    CHECK(find_tool(list, "a")["title"] == json::value("An A"));
    CHECK(find_tool(list, "a")["inputSchema"]["type"] == json::value("object"));
}

TEST_CASE("members that a revision does not define are not sent") {
    fixture f;
    f.server.add_tool("z", "", &add_slowly, {.title = "Zed", .annotations = {.read_only = true}});
    line_client c(f.path);
    c.open_session("2024-11-05");
    json::value z = find_tool(c.ask(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"), "z");
    CHECK(z.contains("inputSchema"));
    CHECK_FALSE(z.contains("outputSchema"));
    CHECK_FALSE(z.contains("title"));
    CHECK_FALSE(z.contains("annotations"));
    CHECK_FALSE(c.call(2, "z", R"({"a":1})")["result"].contains("structuredContent"));
}

TEST_CASE("TOOL-12 TOOL-13: invalid arguments are reported with their path") {
    fixture f;
    f.server.add_tool("deep", "", [](nested_args) { return "ok"; }, {.quick = true});
    f.server.add_tool("slow", "", [](keel::context& ctx, nested_args) -> keel::task<std::string> {
        co_await ctx.yield();
        co_return "ok";
    });
    const char* wrong = R"({"items":[{"a":1},{"a":"x"}]})";
    for (const char* name : {"deep", "slow"}) {
        {
            line_client c(f.path);
            c.open_session("2025-11-25");
            json::value answer = c.call(1, name, wrong);
            CHECK(answer["result"]["isError"] == json::value(true));
            CHECK(text_of(answer).find("arguments.items[1].a: expected integer, found string") != std::string::npos);
        }
        line_client older(f.path);
        older.open_session("2025-06-18");
        json::value error = older.call(1, name, wrong)["error"];
        CHECK(error["code"] == json::value(-32602));
        CHECK(error["message"].as_string().find("arguments.items[1].a") != std::string_view::npos);
    }
}

TEST_CASE("the untyped form takes a schema and JSON, as a function and as a coroutine") {
    fixture f;
    keel::tool_description about;
    about.name = "open";
    about.input_schema = json::parse(R"({"type":"object","x-unknown":1})");
    f.server.add_tool(about,
                      [](keel::context&, const json::value& in) { return keel::tool_result(json::to_string(in)); });
    about.name = "open-task";
    f.server.add_tool(about, [](keel::context ctx, json::value in) -> keel::task<keel::tool_result> {
        co_await ctx.yield();
        keel::tool_result r;
        r.structured = std::move(in);
        co_return r;
    });
    line_client c(f.path);
    c.open_session();
    CHECK(text_of(c.call(1, "open", R"({"x":[1,2]})")) == R"({"x":[1,2]})");
    CHECK(c.call(2, "open-task", R"({"x":1})")["result"]["structuredContent"] == json::parse(R"({"x":1})"));
    json::value list = c.ask(R"({"jsonrpc":"2.0","id":3,"method":"tools/list"})");
    CHECK(find_tool(list, "open")["inputSchema"]["x-unknown"] == json::value(1));  // unknown keywords are kept
}

TEST_CASE("TOOL-08: an invalid tool is refused with its name and the field") {
    keel::server s({.name = "test", .version = "1"});
    auto message = [&](keel::tool_description about) -> std::string {
        try {
            s.add_tool(std::move(about), [](keel::context&, const json::value&) { return keel::tool_result("x"); });
        } catch (const std::invalid_argument& e) {
            return e.what();
        }
        return "";
    };
    json::value good = json::object({{"type", "object"}});
    CHECK(message({.name = "", .input_schema = good}) == "keel: tool \"\": name: must have 1 to 128 characters");
    CHECK(message({.name = "a b", .input_schema = good}) ==
          "keel: tool \"a b\": name: may contain only letters, digits, '_', '-' and '.'");
    CHECK(message({.name = "x", .input_schema = {}}) == "keel: tool \"x\": input_schema: must be a JSON object");
    CHECK(message({.name = "x", .input_schema = json::object()}) ==
          "keel: tool \"x\": input_schema: must have \"type\": \"object\"");
    CHECK(message({.name = "x", .description = "\xff", .input_schema = good}) ==
          "keel: tool \"x\": description: must be UTF-8");
    CHECK(message({.name = "x", .input_schema = good}) == "");
    CHECK_THROWS_AS(s.add_tool(keel::tool_description{.name = "x", .input_schema = good},
                               std::function<keel::tool_result(keel::context&, const json::value&)>()),
                    std::invalid_argument);
    CHECK_THROWS_AS(keel::server({.name = "", .version = "1"}), std::invalid_argument);
}

TEST_CASE("SUB-08: a tool that is removed while it runs finishes; clients are notified") {
    fixture f;
    std::latch started(1), go_on(1);
    f.server.add_tool("slow", "", [&] {
        started.count_down();
        go_on.wait();
        return "finished";
    });
    line_client c(f.path);
    c.open_session();
    c.start_call(1, "slow");
    started.wait();
    CHECK(f.server.remove_tool("slow"));
    CHECK_FALSE(f.server.remove_tool("slow"));
    CHECK(c.receive()["method"] == json::value("notifications/tools/list_changed"));
    go_on.count_down();
    CHECK(text_of(c.receive()) == "finished");
    CHECK(c.call(2, "slow")["error"]["code"] == json::value(-32602));
}

TEST_CASE("F3: a result that is not valid JSON is an internal error, and the next call is served") {
    fixture f;
    f.server.add_tool("nan", "", [] { return std::numeric_limits<double>::quiet_NaN(); });
    f.server.add_tool("bytes", "", [] { return std::string("\xff\xfe"); }, {.quick = true});
    f.server.add_tool("bytes-task", "", []() -> keel::task<std::string> { co_return "\xff"; });
    f.server.add_tool("good", "", [] { return "good"; });
    line_client c(f.path);
    c.open_session();
    int id = 0;
    for (const char* name : {"nan", "bytes", "bytes-task"}) {
        CHECK(c.call(++id, name)["error"]["code"] == json::value(-32603));
        CHECK(text_of(c.call(++id, "good")) == "good");
    }
}
