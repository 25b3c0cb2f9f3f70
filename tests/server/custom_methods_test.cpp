// Methods, notifications and extensions that are not part of the protocol.

#include "feature_server.hpp"
#include "line_client.hpp"

#include <stdexcept>

namespace keel::test {

namespace {

/// A server with custom methods, and a client of either era.
class workshop {
public:
    explicit workshop(server_options options = {})
        : server_({.name = "test", .version = "1"}, quiet(std::move(options))) {}

    server& operator*() { return server_; }
    server* operator->() { return &server_; }

    void open(std::string_view version) {
        modern_ = is_modern(version);
        std::string path = fresh_socket_path();
        server_.start(endpoint::unix_socket(path));
        client_ = std::make_unique<line_client>(path);
        if (!modern_) client_->open_session(std::string(version).c_str());
    }
    json::value ask(std::string_view method, std::string_view members = "") {
        std::string id = std::to_string(++last_);
        return client_->ask(modern_ ? modern_line(id, method, members)
                                    : request_line(id, method, "{" + std::string(members) + "}"));
    }
    void notify(std::string_view method, std::string_view params = "") {
        client_->send(notification_line(method, params));
    }
    /// When it returns, the server has read all earlier messages.
    void settle() { ask("tools/list"); }
    bool logged(std::string_view part) {
        std::lock_guard lock(mutex_);
        for (const std::string& each : log_) {
            if (each.find(part) != std::string::npos) return true;
        }
        return false;
    }

private:
    server_options quiet(server_options o) {
        o.log = [this](log_level, std::string_view text) {
            std::lock_guard lock(mutex_);
            log_.emplace_back(text);
        };
        return o;
    }

    std::mutex mutex_;
    lines log_;
    server server_;
    std::unique_ptr<line_client> client_;
    bool modern_ = false;
    int last_ = 0;
};

json::value echo(context& ctx, const json::value& params) {
    return json::object({{"word", params["word"]}, {"method", ctx.method()}});
}

task<json::value> echo_slowly(context ctx, json::value params) {
    co_await ctx.yield();
    json::value result = echo(ctx, params);
    co_return result;
}

json::value nothing(context&, const json::value&) { return json::object(); }

}  // namespace

TEST_CASE("custom methods are served in every revision, as a function or a coroutine") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        workshop w;
        w->add_method("example/plain", echo);
        w->add_method("example/coroutine", echo_slowly);
        w.open(version);
        for (const char* each : {"example/plain", "example/coroutine"}) {
            CAPTURE(each);
            json::value result = w.ask(each, R"("word":"yes")")["result"];
            CHECK(result["word"] == json::value("yes"));
            CHECK(result["method"] == json::value(each));
            CHECK(result.contains("resultType") == is_modern(version));
            CHECK(result["_meta"].contains("io.modelcontextprotocol/serverInfo") == is_modern(version));
        }
        w->add_method("example/late", nothing);  // also while serving
        CHECK(w.ask("example/late")["result"].is_object());
        CHECK(w.ask("example/none")["error"]["code"] == json::value(-32601));
    }
}

TEST_CASE("`_meta` of a custom method's result is merged with the server's; its resultType is ignored") {
    workshop w;
    w->add_method("example/meta", [](context&, const json::value& params) {
        json::value result = json::object({{"_meta", json::object({{"com.example/a", 1}})}, {"resultType", "mine"}});
        if (params.contains("more")) result.append("more", true);
        return result;
    });
    SUBCASE("in 2026-07-28") {
        w.open("2026-07-28");
        for (const char* more : {"", R"("more":1)"}) {
            json::value result = w.ask("example/meta", more)["result"];
            CHECK(result["resultType"] == json::value("complete"));
            CHECK(result["_meta"]["com.example/a"] == json::value(1));
            CHECK(result["_meta"].contains("io.modelcontextprotocol/serverInfo"));
            CHECK(result.contains("more") == (*more != 0));
        }
    }
    SUBCASE("in older revisions") {
        for (std::string_view version : {"2024-11-05", "2025-11-25"}) {
            CAPTURE(version);
            w.open(version);
            for (const char* more : {"", R"("more":1)"}) {
                json::value result = w.ask("example/meta", more)["result"];
                CHECK_FALSE(result.contains("resultType"));
                CHECK(result["_meta"]["com.example/a"] == json::value(1));
                CHECK(result.contains("more") == (*more != 0));
            }
            w->stop();
        }
    }
}

TEST_CASE("a custom method that throws, or whose result is not an object, is answered with an error") {
    workshop w;
    w->add_method("example/number", [](context&, const json::value&) { return json::value(7); });
    w->add_method("example/number-later", [](context, json::value) -> task<json::value> { co_return json::value(7); });
    w->add_method("example/meta", [](context&, const json::value&) { return json::object({{"_meta", 7}}); });
    w->add_method("example/throws",
                  [](context&, const json::value&) -> json::value { throw std::runtime_error("the secret reason"); });
    w->add_method("example/refuses", [](context&, const json::value&) -> json::value {
        throw error(1500, "not today", json::object({{"when", "tomorrow"}}));
    });
    w.open("2026-07-28");
    for (const char* each : {"example/number", "example/number-later", "example/meta", "example/throws"}) {
        CAPTURE(each);
        json::value e = w.ask(each)["error"];
        CHECK(e["code"] == json::value(-32603));
        CHECK(e["message"] == json::value("internal error"));
    }
    CHECK(w.logged("the result of a method is not an object"));
    CHECK(w.logged("the secret reason"));
    json::value e = w.ask("example/refuses")["error"];
    CHECK(e["code"] == json::value(1500));
    CHECK(e["data"]["when"] == json::value("tomorrow"));
}

TEST_CASE("custom methods can be cancelled") {
    feature_server s;
    gate reached;
    auto own = std::make_shared<server_side::method_offer>();
    own->name = "example/wait";
    own->handler.coroutine = [&](context ctx, json::value) -> task<detail::reply> {
        head_count::presence here(s.handlers);
        co_await ctx.sleep(1h);
        detail::reply unheard;
        co_return unheard;
    };
    own->stats_slot = s.core->stats.slot_of(own->name);
    s.core->methods.put(own);
    s.speak("2025-11-25");
    s.send(request_line("1", "example/wait"));
    CHECK(s.handlers.here() == 1);
    s.cancel("1");
    CHECK(s.handlers.here() == 0);
    CHECK(s.answers_to("1") == 0);
}

TEST_CASE("reserved names, duplicate names and empty functions are refused") {
    server s({.name = "test", .version = "1"});
    auto refused = [&](const std::string& name) { return refusal_of([&] { s.add_method(name, nothing); }); };
    for (const protocol::method_info& each : protocol::methods) {
        std::string name(each.name);
        CHECK(refused(name) == "keel: method \"" + name + "\": the name is reserved by the protocol");
    }
    CHECK(refused("rpc.discover") == "keel: method \"rpc.discover\": the name is reserved by the protocol");
    CHECK(refused("") == "keel: invalid method name: it must be non-empty UTF-8");
    CHECK(refused("\xff") == "keel: invalid method name: it must be non-empty UTF-8");
    CHECK(refused("example/one") == "");
    CHECK(refused("example/one") == "keel: method \"example/one\": already exists");
    CHECK(refusal_of([&] { s.add_method("example/one", echo_slowly); }).ends_with("already exists"));
    CHECK(refusal_of([&] { s.add_method("example/two", std::function<task<json::value>(context, json::value)>()); }) ==
          "keel: method \"example/two\": the function is empty");
    auto hear = [](std::string_view, const json::value&) {};
    for (const char* name : {"notifications/cancelled", "notifications/progress", "notifications/initialized"}) {
        CHECK(refusal_of([&] { s.add_notification(name, hear); }).ends_with("the name is reserved by the protocol"));
    }
    CHECK(refusal_of([&] { s.add_notification("notifications/example", hear); }) == "");
    CHECK(refusal_of([&] { s.add_notification("notifications/example", hear); }) ==
          "keel: notification \"notifications/example\": already exists");
}

TEST_CASE("F9: custom notifications are handled in order; an exception is contained; unknown ones are ignored") {
    for (std::string_view version : {"2025-11-25", "2026-07-28"}) {
        CAPTURE(version);
        workshop w;
        std::mutex mutex;
        lines heard;
        w->add_notification("notifications/example", [&](std::string_view principal, const json::value& params) {
            std::lock_guard lock(mutex);
            heard.push_back(std::string(principal) + json::to_string(params));
            if (params["n"] == json::value(1)) throw std::runtime_error("this one is too much");
            if (params["n"] == json::value(2)) throw 42;
        });
        w.open(version);
        w.settle();
        for (int n = 0; n < 4; ++n) w.notify("notifications/example", R"({"n":)" + std::to_string(n) + "}");
        w.notify("notifications/example");
        w.notify("notifications/nobody", R"({"n":9})");
        w.settle();
        std::lock_guard lock(mutex);
        CHECK(heard == lines{R"({"n":0})", R"({"n":1})", R"({"n":2})", R"({"n":3})", "null"});
        CHECK(w.logged("this one is too much"));
    }
}

TEST_CASE("VER-12: no extension is declared by default") {
    workshop w;
    w.open("2026-07-28");
    CHECK_FALSE(w.ask("server/discover")["result"]["capabilities"].contains("extensions"));
}

TEST_CASE("VER-05: an extension is declared with its settings in revisions that have extensions") {
    server_options options;
    options.extensions["com.example/thing"] = json::object({{"depth", 3}});
    options.extensions["com.example/other"] = json::object();
    feature_server s(with_options([&](server_options& o) { o.extensions = options.extensions; }));
    s.speak("2026-07-28");
    json::value declared = s.ask("server/discover")["result"]["capabilities"]["extensions"];
    CHECK(declared.size() == 2);
    CHECK(declared["com.example/thing"]["depth"] == json::value(3));
    CHECK(declared["com.example/other"].is_object());

    feature_server old(with_options([&](server_options& o) { o.extensions = options.extensions; }));
    old.start();
    old.send(server_under_test::initialize_line("1", "2025-06-18"));
    CHECK_FALSE(old.seen.answer_message("1")["result"]["capabilities"].contains("extensions"));
}

TEST_CASE("VER-05: an extension needs an identifier with a prefix, and settings that are an object") {
    auto refused = [](const std::string& id, json::value settings) {
        return refusal_of([&] {
            server_options options;
            options.extensions[id] = std::move(settings);
            server s({.name = "test", .version = "1"}, options);
        });
    };
    CHECK(refused("com.example/thing", json::object()) == "");
    for (const std::string& id : lines{"", "thing", "/thing", "com..example/x", "com example/x", "1com/x"}) {
        CAPTURE(id);
        CHECK(refused(id, json::object()).find("the identifier needs a prefix") != std::string::npos);
    }
    CHECK(refused("com.example/thing", json::value(true)).find("settings must be a JSON object") != std::string::npos);
    CHECK(refused("com.example/thing", json::object({{"text", "\xff"}})).find("not valid JSON") != std::string::npos);
}

}  // namespace keel::test
