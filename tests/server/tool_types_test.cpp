// Results, handlers and arguments that a typed tool may have.

#include "line_client.hpp"

#include <keel/server.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <variant>
#include <vector>

namespace json = keel::json;

namespace {

struct leg {
    std::string to;
    int km = 0;
};
KEEL_DESCRIBE(leg, to, km)

struct closed_road {
    std::string why;
};
KEEL_DESCRIBE(closed_road, why)

struct booking {
    std::string name;
    std::optional<std::string> mail;
    std::chrono::year_month_day day{};
    int seats = 0;
    std::vector<leg> legs;
};
KEEL_DESCRIBE(booking, (name, keel::pattern("^[A-Z]")), (mail, keel::format("email")), day, (seats, keel::minimum(1)),
              (legs, keel::defaulted))

struct mail_args {
    std::string to;
};
KEEL_DESCRIBE(mail_args, (to, keel::format("email")))

// The schema of milliseconds is "string": only decoding finds an invalid duration.
struct reminder {
    std::string to;
    std::chrono::milliseconds in{};
    std::vector<leg> legs;
    std::chrono::milliseconds every{};
};
KEEL_DESCRIBE(reminder, (to, keel::format("email")), in, legs, every)

struct plain_args {
    int a = 0;
    int b = 0;
};
KEEL_DESCRIBE(plain_args, a, b)

struct tool_server {
    tool_server() { server.start(keel::endpoint::unix_socket(path)); }
    std::string path = fresh_socket_path();
    keel::server server{{.name = "test", .version = "1"}};
};

const char* const latest_meta =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":)"
    R"({"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}})";

json::value call_modern(line_client& c, int id, const std::string& name) {
    return c.ask(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":"tools/call","params":{"name":")" +
                 name + R"(","arguments":{},)" + latest_meta + "}}")["result"];
}

json::value tool_of(const json::value& list, std::string_view name) {
    for (const json::value& t : list["result"]["tools"]) {
        if (t["name"] == name) return t;
    }
    return {};
}

void add_all(keel::server& s) {
    s.add_tool("nothing", "", [] {});
    s.add_tool("later", "", [](keel::context& ctx) -> keel::task<void> { co_await ctx.yield(); });
    s.add_tool("json", "", [] { return json::object("a", 1); });
    s.add_tool("json_list", "", [] { return json::array(1, 2); });
    s.add_tool("list", "", [] {
        std::vector<leg> all;
        all.push_back({"Oslo", 3});
        return all;
    });
    s.add_tool("some", "", [] { return std::optional<leg>(leg{"Oslo", 3}); });
    s.add_tool("none", "", []() -> std::optional<int> { return std::nullopt; });
    s.add_tool("map", "", [] { return std::map<std::string, int>{{"a", 1}}; });
    s.add_tool("either", "", [] { return std::variant<leg, closed_road>(closed_road{"snow"}); });
    s.add_tool("mixed", "", [] { return std::variant<leg, std::string>("text"); });
    s.add_tool("set", "", [] { return std::set<int>{2, 1}; });
    s.add_tool("time", "", [] { return std::chrono::sys_seconds(std::chrono::seconds(1)); });
    s.add_tool("tasked", "", []() -> keel::task<std::vector<int>> {
        std::vector<int> numbers{1, 2};
        co_return numbers;
    });
}

class member_counter {
public:
    int add(plain_args in) { return total_ += in.a + in.b; }
    std::string shown(keel::context ctx) const { return std::string(ctx.method()) + std::to_string(total_); }
    keel::task<int> later(const keel::context& ctx, plain_args in) {
        co_await ctx.yield();
        co_return in.a;
    }

private:
    int total_ = 0;
};

}  // namespace

TEST_CASE("TOOL-04 TOOL-11: results of every standard type are text and, where the revision allows it, structured") {
    tool_server f;
    add_all(f.server);
    line_client old(f.path);
    old.open_session("2025-11-25");
    line_client fresh(f.path);
    struct expectation {
        const char* tool;
        const char* json;  // nullptr: no content
        bool object;       // revisions before 2026-07-28 get structured content
    };
    int id = 0;
    for (const expectation& e : {expectation{"nothing", nullptr, false},
                                 {"later", nullptr, false},
                                 {"json", R"({"a":1})", true},
                                 {"json_list", "[1,2]", false},
                                 {"list", R"([{"to":"Oslo","km":3}])", false},
                                 {"some", R"({"to":"Oslo","km":3})", true},
                                 {"none", "null", false},
                                 {"map", R"({"a":1})", true},
                                 {"either", R"({"why":"snow"})", true},
                                 {"mixed", R"("text")", false},
                                 {"set", "[1,2]", false},
                                 {"time", R"("1970-01-01T00:00:01Z")", false},
                                 {"tasked", "[1,2]", false}}) {
        CAPTURE(e.tool);
        const json::value legacy = old.call(++id, e.tool)["result"];
        const json::value modern = call_modern(fresh, ++id, e.tool);
        for (const json::value* result : {&legacy, &modern}) {
            CHECK(!result->contains("isError"));
            CHECK((*result)["content"].size() == (e.json ? 1 : 0));
            if (e.json) CHECK((*result)["content"].at(0)["text"] == e.json);
        }
        CHECK(legacy.contains("structuredContent") == e.object);
        CHECK(modern.contains("structuredContent") == (e.json != nullptr));
        if (e.json) CHECK(modern["structuredContent"] == json::parse(e.json));
    }
}

TEST_CASE("TOOL-03: output schemas of standard types") {
    tool_server f;
    add_all(f.server);
    line_client old(f.path);
    old.open_session("2025-11-25");
    const json::value legacy = old.ask(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
    line_client fresh(f.path);
    const json::value modern =
        fresh.ask(std::string(R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{)") + latest_meta + "}}");
    for (const char* name : {"nothing", "later", "json", "json_list"}) {
        CHECK(!tool_of(modern, name).contains("outputSchema"));
    }
    CHECK(tool_of(modern, "list")["outputSchema"]["type"] == "array");
    CHECK(tool_of(modern, "none")["outputSchema"]["anyOf"].at(1)["type"] == "null");
    CHECK(!tool_of(legacy, "list").contains("outputSchema"));
    CHECK(!tool_of(legacy, "mixed").contains("outputSchema"));
    CHECK(tool_of(legacy, "map")["outputSchema"]["type"] == "object");
    CHECK(tool_of(legacy, "either")["outputSchema"]["type"] == "object");
    CHECK(tool_of(legacy, "either")["outputSchema"]["anyOf"].size() == 2);
}

TEST_CASE("handlers take the context in any form, own what cannot be copied, and may be member functions") {
    tool_server f;
    member_counter numbers;
    auto shared = std::make_shared<member_counter>();
    auto owned = std::make_unique<int>(7);
    f.server.add_tool("value", "", [](keel::context ctx) { return std::string(ctx.method()); });
    f.server.add_tool("const", "", [](const keel::context& ctx, const plain_args& in) {
        ctx.progress(1);
        return in.a;
    });
    f.server.add_tool("move_only", "", [owned = std::move(owned)](plain_args in) { return *owned + in.a; });
    f.server.add_tool("move_only_task", "",
                      [kept = std::make_unique<int>(3)]() -> keel::task<int> { co_return *kept; });
    f.server.add_tool("add", "", keel::bind_member(&member_counter::add, &numbers));
    f.server.add_tool("shown", "", keel::bind_member(&member_counter::shown, &numbers));
    f.server.add_tool("later", "", keel::bind_member(&member_counter::later, shared));
    line_client c(f.path);
    c.open_session();
    CHECK(text_of(c.call(1, "value")) == "tools/call");
    CHECK(text_of(c.call(2, "const", R"({"a":2,"b":0})")) == "2");
    CHECK(text_of(c.call(3, "move_only", R"({"a":2,"b":0})")) == "9");
    CHECK(text_of(c.call(4, "move_only_task")) == "3");
    CHECK(text_of(c.call(5, "add", R"({"a":2,"b":3})")) == "5");
    CHECK(text_of(c.call(6, "shown")) == "tools/call5");
    CHECK(text_of(c.call(7, "later", R"({"a":4,"b":3})")) == "4");
}

TEST_CASE("TOOL-13: all invalid arguments of a typed tool are reported at once") {
    tool_server f;
    f.server.add_tool("plain", "", [](plain_args) { return "ok"; });
    f.server.add_tool("book", "", [](booking) { return "ok"; });
    line_client c(f.path);
    c.open_session();
    CHECK(text_of(c.call(1, "plain", R"({"a":"x"})")) ==
          "arguments.a: expected integer, found string\narguments.b: required");
    // This one is validated against its schema, because of the pattern and the format.
    CHECK(text_of(c.call(2, "book", R"({"name":"ann","mail":"at home","day":"2026-02-30","legs":[{"to":1}]})")) ==
          "arguments.name: expected a string matching the pattern \"^[A-Z]\", found \"ann\"\n"
          "arguments.mail: expected the format email, found \"at home\"\n"
          "arguments.day: expected the format date, found \"2026-02-30\"\n"
          "arguments.legs[0].to: expected string, found integer\n"
          "arguments.legs[0].km: required\n"
          "arguments.seats: required");
    CHECK(text_of(c.call(3, "book", R"({"name":"Ann","mail":"a@b.no","day":"2026-02-28","seats":1})")) == "ok");

    line_client old(f.path);
    old.open_session("2025-06-18");
    const json::value error = old.call(1, "plain", "{}")["error"];
    CHECK(error["code"] == -32602);
    CHECK(error["message"] == "arguments.a: required\narguments.b: required");
}

TEST_CASE("TOOL-13: errors that only decoding finds are reported together with those of the schema") {
    tool_server f;
    f.server.add_tool("remind", "", [](reminder) { return "ok"; });
    line_client c(f.path);
    c.open_session();
    CHECK(text_of(c.call(1, "remind", R"({"to":"at home","in":"soon","legs":[{"to":1,"km":2}],"every":1})")) ==
          "arguments.to: expected the format email, found \"at home\"\n"
          "arguments.legs[0].to: expected string, found integer\n"
          "arguments.every: expected string, found integer\n"
          "arguments.in: expected a duration like \"PT1H30M\" (ISO 8601, without years and months), found \"soon\"");
    CHECK(text_of(c.call(2, "remind", R"({"to":"a@b.no","in":"soon","legs":[],"every":"PT1S"})"))
              .starts_with("arguments.in: "));
}

TEST_CASE("TOOL-13: the message about invalid arguments is limited") {
    tool_server f;
    std::string arguments = R"({"name":"A","day":"2026-01-01","seats":1,"legs":[)";
    for (int i = 0; i < 1000; ++i) arguments += R"({"to":1,"km":"x"},)";
    arguments.back() = ']';
    arguments += '}';
    f.server.add_tool("book", "", [](booking) { return "ok"; });
    line_client c(f.path);
    c.open_session();
    const std::string text = text_of(c.call(1, "book", arguments));
    CHECK(std::count(text.begin(), text.end(), '\n') == 19);
    CHECK(text.size() < 9000);
}

TEST_CASE("`format` is checked for tool arguments, unless the tool turns it off") {
    tool_server f;
    keel::tool_description about;
    about.name = "raw";
    about.input_schema = json::parse(R"({"type":"object","properties":{"when":{"type":"string","format":"date"}}})");
    const auto handler = [](keel::context&, const json::value&) { return keel::tool_result("ok"); };
    f.server.add_tool(about, handler);
    about.name = "lenient";
    about.options.check_formats = false;
    f.server.add_tool(about, handler);
    about.name = "both";
    about.options.check_formats = true;
    about.input_schema["properties"]["id"] = json::object("type", "string", "format", "uuid");
    f.server.add_tool(about, handler);
    f.server.add_tool("typed", "", [](mail_args) { return "ok"; });
    line_client c(f.path);
    c.open_session();
    CHECK(text_of(c.call(0, "typed", R"({"to":"at home"})")) ==
          "arguments.to: expected the format email, found \"at home\"");
    CHECK(text_of(c.call(1, "raw", R"({"when":"2026-07-28"})")) == "ok");
    CHECK(text_of(c.call(2, "raw", R"({"when":"tomorrow"})")) ==
          "arguments.when: expected the format date, found \"tomorrow\"");
    CHECK(text_of(c.call(3, "lenient", R"({"when":"tomorrow"})")) == "ok");
    CHECK(text_of(c.call(4, "both", R"({"when":"tomorrow","id":"7"})")) ==
          "arguments.when: expected the format date, found \"tomorrow\"\n"
          "arguments.id: expected the format uuid, found \"7\"");
}
