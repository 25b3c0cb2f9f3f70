#include "completion.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace keel;
using namespace keel::command;

namespace {

feature_lookup some_features() {
    feature_lookup all;
    all.tools = [] {
        tool read;
        read.name = "read_file";
        read.description = "Reads a file\nSecond line";
        read.input_schema =
            json::parse(R"({"properties": {"path": {"type": "string"}, "mode": {"enum": ["text", "bytes"]},
            "deep": {"type": "boolean"}, "tags": {"type": "array"}}})");
        tool write;
        write.name = "write_file";
        return std::vector<tool>{read, write};
    };
    all.prompts = [] {
        prompt p;
        p.name = "greet";
        p.arguments.resize(1);
        p.arguments[0].name = "name";
        return std::vector<prompt>{p};
    };
    all.resources = [] {
        resource r;
        r.uri = "demo://readme";
        return std::vector<resource>{r};
    };
    all.prompt_values = [](const std::string&, const std::string&, const std::string& value) {
        return std::vector<std::string>{value + "a"};
    };
    return all;
}

std::string texts(const candidates& all) {
    std::string text;
    for (const candidate& each : all.words) text += (text.empty() ? "" : " ") + each.text;
    return text;
}

/// The candidates of a line whose server is a program that is not started.
std::string of(std::vector<std::string> words) {
    return texts(complete(words, [](const options&) { return some_features(); }));
}

std::string of_features(const char* command, std::vector<std::string> words) {
    candidates all = complete_features(command, words, some_features());
    keep_matching(all, words.back());
    return texts(all);
}

}  // namespace

TEST_CASE("commands, options and their values are completed") {
    CHECK(of({"pro"}) == "prompts prompt");
    CHECK(of({"nothing"}) == "");
    CHECK(of({"call", "--ed"}) == "--edit");
    CHECK(of({"tools", "--ed"}) == "");  // an option of another command
    CHECK(of({"tools", "--protocol", "l"}) == "legacy");
    CHECK(of({"completion", ""}) == "bash zsh fish");
    CHECK(complete({"tools", "--cwd", ""}, {}).also == candidates::paths::directories);
    CHECK(complete({"tools", "--ca-file", ""}, {}).also == candidates::paths::files);
    CHECK(complete({"tools", "--", "./s"}, {}).also == candidates::paths::files);
}

TEST_CASE("tools, arguments, prompts and resources of a server are completed") {
    CHECK(of({"tools", "--url", "http://127.0.0.1:1/", ""}) == "read_file write_file");
    CHECK(of({"tools", "http://127.0.0.1:1/", "w"}) == "write_file");
    CHECK(of({"call", "http://127.0.0.1:1/", "read_file", "p"}) == "path=");
    CHECK(of_features("call", {"read_file", ""}) == "path= mode= deep= tags=");
    CHECK(of_features("call", {"read_file", "path=x", "tags=a", ""}) == "mode= deep= tags=");
    CHECK(of_features("call", {"read_file", "mode=t"}) == "mode=text");
    CHECK(of_features("call", {"read_file", "deep="}) == "deep=true deep=false");
    CHECK(of_features("call", {"unknown", ""}) == "");
    CHECK(of_features("prompt", {""}) == "greet");
    CHECK(of_features("prompt", {"greet", ""}) == "name=");
    CHECK(of_features("prompt", {"greet", "name=Ad"}) == "name=Ada");
    CHECK(of_features("read", {"demo"}) == "demo://readme");
}

TEST_CASE("a server that may not be asked has no candidates") {
    CHECK(texts(complete({"tools", "http://127.0.0.1:1/", ""}, [](const options&) { return feature_lookup(); })) == "");
}

TEST_CASE("a line is split into words as by a shell") {
    using words = std::vector<std::string>;
    CHECK(split_line("") == words{""});
    CHECK(split_line("keel call a.b  x=1") == words{"keel", "call", "a.b", "x=1"});
    CHECK(split_line("a ") == words{"a", ""});
    CHECK(split_line(R"(a "b c" 'd\' e\ f "g\"h" "")") == words{"a", "b c", "d\\", "e f", "g\"h", ""});
    CHECK(split_line("a 'open") == words{"a", "open"});
}
