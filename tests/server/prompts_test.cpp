#include "feature_server.hpp"

namespace json = keel::json;
using keel::test::all_versions;
using keel::test::feature_server;
using keel::test::is_modern;
using keel::test::refusal_of;

namespace {

enum class tone { formal, friendly };
KEEL_DESCRIBE_ENUM(tone, formal, friendly)

struct letter_args {
    std::string to;
    std::optional<tone> how;
    std::optional<std::string> about;
};
KEEL_DESCRIBE(letter_args, (to, keel::title("Recipient"), "Who gets it"), how, about)

struct bad_args {
    std::string good;
    std::optional<int> count;
};
KEEL_DESCRIBE(bad_args, good, (count, keel::wire("howMany")))

json::value get(feature_server& s, std::string_view name, std::string_view arguments = "{}") {
    return s.ask("prompts/get", R"("name":")" + std::string(name) + R"(","arguments":)" + std::string(arguments));
}

}  // namespace

TEST_CASE("PRM-01: the prompts capability is declared if there are prompts, and then prompts/list works") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        auto declared = [&](feature_server& s) {
            if (is_modern(version)) {
                s.speak(version);
                return s.ask("server/discover")["result"]["capabilities"].contains("prompts");
            }
            s.start();
            s.send(s.initialize_line("\"i\"", version));
            return s.seen.answer_message("\"i\"")["result"]["capabilities"].contains("prompts");
        };
        {
            feature_server none;
            CHECK_FALSE(declared(none));
        }
        feature_server some;
        some.add_prompt("p", [] { return "x"; });
        CHECK(declared(some));
        feature_server promised(keel::test::with_options([](auto& o) { o.declare_prompts = true; }));
        promised.speak(version);
        CHECK(json::to_string(promised.ask("prompts/list")["result"]["prompts"]) == "[]");
        feature_server nothing;
        nothing.speak(version);
        CHECK(nothing.error_of(nothing.ask("prompts/list")).starts_with("-32601"));
    }
}

TEST_CASE("the members of a described struct are the arguments of a prompt") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        feature_server s;
        keel::prompt about;
        about.name = "letter";
        about.title = "Letter";
        about.description = "Writes a letter";
        about.icons.push_back({"https://example.com/i.png"});
        about.meta = json::object({{"com.example/x", 1}});
        s.add_prompt(about, [](letter_args in) { return in.to; });
        s.speak(version);
        json::value told = s.ask("prompts/list")["result"]["prompts"].at(0);
        CHECK(told["name"] == json::value("letter"));
        CHECK(told["description"] == json::value("Writes a letter"));
        bool titles = version >= "2025-06-18";
        CHECK(told.contains("title") == titles);
        CHECK(told.contains("_meta") == titles);
        CHECK(told.contains("icons") == (version >= "2025-11-25"));
        json::value to = json::parse(R"({"name":"to","description":"Who gets it","required":true})");
        if (titles) to.set("title", "Recipient");
        CHECK(told["arguments"] ==
              json::array({to, json::object({{"name", "how"}}), json::object({{"name", "about"}})}));
    }
}

TEST_CASE("every signature of a prompt function produces messages") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        feature_server s;
        s.add_prompt("text", [](letter_args in) {
            return "to " + in.to + (in.how == tone::friendly ? "!" : ".") + in.about.value_or("");
        });
        s.add_prompt("quick", [] { return "quick"; }, {.quick = true});
        s.add_prompt("message", [] { return keel::prompt_message(keel::role::assistant, "said"); });
        s.add_prompt("several", [](keel::context&) {
            return std::vector<keel::prompt_message>{keel::prompt_message("one"),
                                                     keel::prompt_message(keel::role::assistant, "two")};
        });
        s.add_prompt("whole", [](keel::context& ctx) -> keel::task<keel::prompt_result> {
            co_await ctx.yield();
            keel::prompt_result r("Described", {keel::prompt_message("x")});
            r.meta = json::object({{"com.example/x", 1}});
            co_return r;
        });
        s.add_prompt("open", [](const keel::prompt_arguments& in) {
            std::string all;
            for (const auto& [key, value] : in) all += key + "=" + value + ";";
            return all;
        });
        s.speak(version);
        auto text = [](const json::value& answer) {
            return std::string(answer["result"]["messages"].at(0)["content"]["text"].as_string());
        };
        CHECK(get(s, "quick")["result"]["messages"] ==
              json::parse(R"([{"role":"user","content":{"type":"text","text":"quick"}}])"));
        CHECK(text(get(s, "text", R"({"to":"Ann","how":"friendly"})")) == "to Ann!");
        CHECK(text(get(s, "text", R"({"to":"Ann","about":"tea","unknown":"ignored"})")) == "to Ann.tea");
        CHECK(text(get(s, "open", R"({"a":"1","b":"2"})")) == "a=1;b=2;");
        CHECK(get(s, "message")["result"]["messages"].at(0)["role"] == json::value("assistant"));
        CHECK(get(s, "several")["result"]["messages"].size() == 2);
        json::value whole = get(s, "whole");
        CHECK(whole["result"]["description"] == json::value("Described"));
        CHECK(whole["result"]["_meta"].contains("com.example/x"));
        CHECK(whole["result"].contains("resultType") == is_modern(version));
        CHECK(text(s.ask("prompts/get", R"("name":"quick")")) == "quick");  // without arguments
    }
}

TEST_CASE("PRM-04: an unknown prompt and a missing or invalid argument are invalid params with its name") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        feature_server s;
        s.add_prompt("letter", [](letter_args in) { return in.to; });
        keel::prompt about;
        about.name = "open";
        about.arguments.push_back({"code", "", "", true});
        s.add_prompt(about, [](const keel::prompt_arguments& in) { return in.at("code"); });
        s.speak(version);
        CHECK(s.error_of(s.ask("prompts/get")) == "-32602 name: expected string");
        CHECK(s.error_of(s.ask("prompts/get", R"("name":7)")) == "-32602 name: expected string");
        CHECK(s.error_of(get(s, "nobody")) == "-32602 unknown prompt: nobody");
        CHECK(s.error_of(get(s, "letter")) == "-32602 arguments.to: required");
        CHECK(s.error_of(get(s, "open")) == "-32602 arguments.code: required");
        CHECK(s.error_of(get(s, "letter", "[]")) == "-32602 arguments: expected object");
        CHECK(s.error_of(get(s, "letter", R"({"to":7})")) == "-32602 arguments.to: expected string, found integer");
        CHECK(s.error_of(get(s, "open", R"({"code":"x","y":null})")) ==
              "-32602 arguments.y: expected string, found null");
        CHECK(s.error_of(get(s, "letter", R"({"to":"x","how":"rude"})")).starts_with("-32602 arguments.how: "));
        CHECK(s.error_of(get(s, "letter", R"({"to":"x"})")) == "");
    }
}

TEST_CASE("PRM-02: content blocks are sent in the format of the revision") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        feature_server s;
        s.add_prompt("rich", [] {
            std::vector<keel::prompt_message> all;
            all.emplace_back(keel::content::image_bytes("\x89PNG", "image/png"));
            all.emplace_back(keel::content::audio_bytes("RIFF", "audio/wav"));
            all.emplace_back(keel::content::embed(keel::resource_contents::of_text("a:b", "inside")));
            keel::resource linked;
            linked.uri = "a:c";
            linked.name = "link";
            linked.icons.push_back({"https://example.com/i.png"});
            all.emplace_back(keel::content::link(linked));
            all.emplace_back("text");
            return all;
        });
        s.speak(version);
        json::value answer = get(s, "rich");
        auto block = [&](std::size_t i) { return answer["result"]["messages"].at(i)["content"]; };
        CHECK(block(0) == json::parse(R"({"type":"image","data":"iVBORw==","mimeType":"image/png"})"));
        CHECK(block(1)["type"] == json::value(version >= "2025-03-26" ? "audio" : "text"));
        CHECK(block(2)["resource"] == json::parse(R"({"uri":"a:b","mimeType":"text/plain","text":"inside"})"));
        CHECK(block(3)["type"] == json::value(version >= "2025-06-18" ? "resource_link" : "text"));
        CHECK(block(3).contains("icons") == (version >= "2025-11-25"));
        CHECK(block(4)["text"] == json::value("text"));
    }
}

TEST_CASE("PRM-02: an invalid content block is an internal error, and the reason is logged") {
    feature_server s;
    s.add_prompt("data", [] { return keel::prompt_message(keel::content::image("not base64", "image/png")); });
    s.add_prompt("mime", [] { return keel::prompt_message(keel::content::audio("aGk=", "sound")); });
    s.add_prompt("uri", [] {
        return keel::prompt_message(keel::content::embed(keel::resource_contents::of_text("no uri", "x")));
    });
    s.add_prompt("type", [] {
        return keel::prompt_message(keel::content::embed(keel::resource_contents::of_text("a:b", "x", "")));
    });
    s.add_prompt("nothing", [] {
        keel::resource_contents c = keel::resource_contents::of_text("a:b", "x");
        c.text.reset();
        return keel::prompt_message(keel::content::embed(c));
    });
    s.add_prompt("utf8", [] { return std::string("\xff"); });
    s.add_prompt("good", [] { return "x"; });
    s.speak("2025-11-25");
    for (const char* name : {"data", "mime", "uri", "type", "nothing", "utf8"}) {
        CAPTURE(name);
        CHECK(s.error_of(get(s, name)) == "-32603 internal error");
        CHECK(s.error_of(get(s, "good")) == "");
    }
    CHECK(s.logged("invalid image block in a prompt: the data is not valid Base64"));
    CHECK(s.logged("invalid audio block in a prompt: invalid MIME type"));
}

TEST_CASE("an invalid prompt is refused with its name and the field") {
    feature_server s;
    auto add = [&](auto change, keel::prompt_options options = {}) {
        return refusal_of([&] {
            keel::prompt p;
            p.name = "p";
            change(p);
            s.add_prompt(p, [](const keel::prompt_arguments&) { return "x"; }, options);
        });
    };
    CHECK(add([](auto& p) { p.name = ""; }) == "keel: prompt \"\": name: must not be empty");
    CHECK(add([](auto& p) { p.name = "\xff"; }) == "keel: prompt \"?\": name: must be UTF-8");
    CHECK(add([](auto& p) { p.title = "\xff"; }) == "keel: prompt \"p\": title: must be UTF-8");
    CHECK(add([](auto& p) { p.description = "\xff"; }) == "keel: prompt \"p\": description: must be UTF-8");
    CHECK(add([](auto& p) { p.meta = 7; }) == "keel: prompt \"p\": meta: must be a JSON object");
    CHECK(add([](auto& p) { p.arguments = {{"a"}, {"a"}}; }) == "keel: prompt \"p\": arguments: \"a\" is a duplicate");
    CHECK(add([](auto& p) { p.arguments = {{""}}; }) == "keel: prompt \"p\": arguments: must not be empty");
    keel::prompt_options options;
    options.complete["x"] = [](keel::context&, const keel::completion_request&) { return keel::completion(); };
    CHECK(add([](auto&) {}, options) == "keel: prompt \"p\": complete: unknown argument \"x\"");
    options.complete = {{"x", {}}};
    CHECK(add([](auto& p) { p.arguments = {{"x"}}; }, options) ==
          "keel: prompt \"p\": complete: the function for \"x\" is empty");
    CHECK(refusal_of([&] { s.add_prompt("p", [](bad_args) { return "x"; }); }) ==
          "keel: prompt arguments bad_args: howMany: must be a string, an enum, or an optional of these");
    keel::prompt empty;
    empty.name = "p";
    CHECK(refusal_of([&] { keel::server_side::prompt_offer(keel::detail::prompt_entry{empty, {}, {}}); }) ==
          "keel: prompt \"p\": handler: must not be empty");
    CHECK(add([](auto&) {}) == "");
    CHECK(add([](auto&) {}) == "keel: prompt \"p\": already exists");
}
