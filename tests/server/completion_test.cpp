#include "feature_server.hpp"

#include <thread>

namespace json = keel::json;
using keel::test::all_versions;
using keel::test::feature_server;
using keel::test::is_modern;

namespace {

struct code_args {
    std::string language;
    std::optional<std::string> framework;
    std::optional<std::string> free;
};
KEEL_DESCRIBE(code_args, language, framework, free)

keel::prompt_options completions() {
    keel::prompt_options options;
    options.complete["language"] = [](keel::context&, const keel::completion_request& r) {
        keel::completion c;
        for (const char* each : {"cpp", "python", "pascal"}) {
            if (std::string_view(each).starts_with(r.value)) c.values.emplace_back(each);
        }
        return c;
    };
    options.complete["framework"] = [](keel::context&, const keel::completion_request& r) {
        keel::completion c;
        auto chosen = r.chosen.find("language");
        c.values = {r.argument + " for " + (chosen == r.chosen.end() ? "anything" : chosen->second)};
        c.has_more = false;
        return c;
    };
    return options;
}

std::string ref_prompt(std::string_view argument, std::string_view value = "") {
    return R"("ref":{"type":"ref/prompt","name":"code"},"argument":{"name":")" + std::string(argument) +
           R"(","value":")" + std::string(value) + "\"}";
}
std::string ref_resource(std::string_view uri, std::string_view argument, std::string_view value = "") {
    return R"("ref":{"type":"ref/resource","uri":")" + std::string(uri) + R"("},"argument":{"name":")" +
           std::string(argument) + R"(","value":")" + std::string(value) + "\"}";
}

}  // namespace

TEST_CASE("COMP-01: the completions capability is declared if there is a completer and the revision has it") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        for (bool some : {false, true}) {
            feature_server s;
            s.add_prompt("code", [](code_args) { return "x"; }, some ? completions() : keel::prompt_options());
            json::value capabilities;
            if (is_modern(version)) {
                s.speak(version);
                capabilities = s.ask("server/discover")["result"]["capabilities"];
            } else {
                s.start();
                s.send(s.initialize_line("\"i\"", version));
                capabilities = s.seen.answer_message("\"i\"")["result"]["capabilities"];
            }
            CHECK(capabilities.contains("completions") == (some && version >= "2025-03-26"));
        }
        feature_server nothing;
        nothing.add_prompt("code", [](code_args) { return "x"; });
        nothing.speak(version);
        CHECK(nothing.error_of(nothing.ask("completion/complete", ref_prompt("language"))).starts_with("-32601"));
    }
}

TEST_CASE("arguments of prompts and variables of templates are completed on a worker") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        feature_server s;
        s.add_prompt("code", [](code_args) { return "x"; }, completions());
        std::thread::id ran_on;
        keel::template_options options;
        options.complete["path"] = [&](keel::context& ctx, const keel::completion_request& r) {
            ran_on = std::this_thread::get_id();
            CHECK(ctx.protocol_version() == version);
            return keel::completion{{r.value + "1", r.value + "2"}, 7, true};
        };
        s.add_template("file:///{+path}{?line}", [] { return "x"; }, options);
        s.speak(version);
        json::value answer = s.ask("completion/complete", ref_prompt("language", "p"));
        CHECK(answer["result"]["completion"] == json::parse(R"({"values":["python","pascal"]})"));
        CHECK(answer["result"].contains("resultType") == is_modern(version));
        answer = s.ask("completion/complete", ref_resource("file:///{+path}{?line}", "path", "a/"));
        CHECK(answer["result"]["completion"] == json::parse(R"({"values":["a/1","a/2"],"total":7,"hasMore":true})"));
        CHECK(ran_on != std::this_thread::get_id());
        // These have no completions.
        CHECK(json::to_string(s.ask("completion/complete", ref_prompt("free"))["result"]["completion"]["values"]) ==
              "[]");
        answer = s.ask("completion/complete", ref_resource("file:///{+path}{?line}", "line"));
        CHECK(json::to_string(answer["result"]["completion"]["values"]) == "[]");
    }
}

TEST_CASE("completers get the chosen arguments since 2025-06-18") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        feature_server s;
        s.add_prompt("code", [](code_args) { return "x"; }, completions());
        s.speak(version);
        std::string chosen = R"(,"context":{"arguments":{"language":"python"}})";
        json::value answer = s.ask("completion/complete", ref_prompt("framework") + chosen);
        CHECK(answer["result"]["completion"]["values"].at(0) ==
              json::value(version >= "2025-06-18" ? "framework for python" : "framework for anything"));
        CHECK(answer["result"]["completion"]["hasMore"] == json::value(false));
        CHECK(s.error_of(s.ask("completion/complete", ref_prompt("framework") + R"(,"context":{})")) == "");
        if (version < "2025-06-18") continue;
        CHECK(s.error_of(s.ask("completion/complete", ref_prompt("framework") + R"(,"context":7)")) ==
              "-32602 context: expected object");
        CHECK(s.error_of(s.ask("completion/complete", ref_prompt("framework") + R"(,"context":{"arguments":[]})")) ==
              "-32602 context.arguments: expected object");
        CHECK(
            s.error_of(s.ask("completion/complete", ref_prompt("framework") + R"(,"context":{"arguments":{"a":1}})")) ==
            "-32602 context.arguments.a: expected string");
    }
}

TEST_CASE("COMP-02: at most 100 values are sent, with the total number") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        for (std::size_t count : {0u, 1u, 100u, 101u, 5000u}) {
            for (std::optional<std::int64_t> total :
                 {std::optional<std::int64_t>(), std::optional<std::int64_t>(9000), std::optional<std::int64_t>(-3)}) {
                feature_server s;
                keel::prompt_options options;
                options.complete["language"] = [&](keel::context&, const keel::completion_request&) {
                    keel::completion c;
                    for (std::size_t i = 0; i < count; ++i) c.values.push_back(std::to_string(i));
                    c.total = total;
                    return c;
                };
                s.add_prompt("code", [](code_args) { return "x"; }, options);
                s.speak(version);
                json::value c = s.ask("completion/complete", ref_prompt("language"))["result"]["completion"];
                REQUIRE(c["values"].size() == std::min<std::size_t>(count, 100));
                if (count > 0) CHECK(c["values"].at(0) == json::value("0"));  // the best match first
                bool cut = count > 100;
                CHECK(c["hasMore"].if_bool() == (cut ? std::optional(true) : std::nullopt));
                if (total == 9000) CHECK(c["total"] == json::value(9000));
                else CHECK(c["total"] == (cut ? json::value(count) : json::value()));
            }
        }
    }
}

TEST_CASE("COMP-03: an unknown reference or argument is invalid params, a failing function an internal error") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        feature_server s;
        s.add_prompt("code", [](code_args) { return "x"; }, completions());
        keel::template_options options;
        options.complete["x"] = [](keel::context&, const keel::completion_request&) -> keel::completion {
            throw std::runtime_error("the index is broken");
        };
        options.complete["y"] = [](keel::context&, const keel::completion_request&) {
            return keel::completion{{"\xff"}, {}, {}};
        };
        s.add_template("a:{x}{y}", [] { return "x"; }, options);
        s.speak(version);
        auto failed = [&](const std::string& params) { return s.error_of(s.ask("completion/complete", params)); };
        std::string argument = R"("argument":{"name":"language","value":""})";
        CHECK(failed("") == "-32602 ref: expected object");
        CHECK(failed(R"("ref":{},)" + argument) == "-32602 ref.type: expected string");
        CHECK(failed(R"("ref":{"type":"ref/tool"},)" + argument) ==
              "-32602 ref.type: unknown reference type: ref/tool");
        CHECK(failed(R"("ref":{"type":"ref/prompt"},)" + argument) == "-32602 ref.name: expected string");
        CHECK(failed(R"("ref":{"type":"ref/resource"},)" + argument) == "-32602 ref.uri: expected string");
        CHECK(failed(R"("ref":{"type":"ref/prompt","name":"nobody"},)" + argument) == "-32602 unknown prompt: nobody");
        CHECK(failed(R"("ref":{"type":"ref/prompt","name":"code"})") == "-32602 argument: expected object");
        CHECK(failed(R"("ref":{"type":"ref/prompt","name":"code"},"argument":{"value":""})") ==
              "-32602 argument.name: expected string");
        CHECK(failed(R"("ref":{"type":"ref/prompt","name":"code"},"argument":{"name":"language"})") ==
              "-32602 argument.value: expected string");
        CHECK(failed(ref_prompt("color")) == "-32602 unknown argument: color");
        CHECK(failed(ref_resource("b:{x}", "x")) == "-32602 unknown resource template: b:{x}");
        CHECK(failed(ref_resource("a:1", "x")) == "-32602 unknown resource template: a:1");
        CHECK(failed(ref_resource("a:{x}{y}", "z")) == "-32602 unknown argument: z");
        CHECK(failed(ref_resource("a:{x}{y}", "x")) == "-32603 internal error");
        CHECK(s.logged("the index is broken"));
        CHECK(failed(ref_resource("a:{x}{y}", "y")) == "-32603 internal error");
        CHECK(failed(ref_prompt("language")) == "");
    }
}
