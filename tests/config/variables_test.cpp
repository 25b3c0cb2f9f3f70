#include "config/variables.hpp"

#include "config/env_file.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include <unistd.h>

using namespace keel;
using config::expand;

namespace {

config::variables some() {
    config::variables v;
    v.workspace = "/work/project";
    v.environment = [](const std::string& name) -> std::optional<std::string> {
        if (name == "HOME") return "/home/ada";
        if (name == "TOKEN") return "${secret}";
        if (name == "EMPTY") return "";
        return std::nullopt;
    };
    return v;
}

std::string expand_problem(std::string_view text) {
    config::variables v = some();
    try {
        expand(text, v);
    } catch (const config_error& e) {
        return e.what();
    }
    return {};
}

}  // namespace

TEST_CASE("variables of all hosts are expanded") {
    config::variables v = some();
    CHECK(expand("${env:HOME}/x", v) == "/home/ada/x");
    CHECK(expand("${HOME}${HOME}", v) == "/home/ada/home/ada");
    CHECK(expand("${NOPE:-fall:-back}", v) == "fall:-back");
    CHECK(expand("${EMPTY:-fallback}", v) == "fallback");
    CHECK(expand("${HOME:-fallback}", v) == "/home/ada");
    CHECK(expand("${NOPE:-}", v) == "");
    CHECK(expand("${workspaceFolder}${/}src", v) == "/work/project/src");
    CHECK(expand("${workspaceFolderBasename}", v) == "project");
    CHECK(expand("${userHome}", v) == "/home/ada");
}

TEST_CASE("the value of a variable is not expanded again, and other text stays as it is") {
    config::variables v = some();
    CHECK(expand("Bearer ${TOKEN}", v) == "Bearer ${secret}");
    for (const char* text : {"", "$HOME", "$", "${", "a}b", "${HOME", "%HOME%"}) CHECK(expand(text, v) == text);
}

TEST_CASE("a variable without a value is an error") {
    CHECK(expand_problem("${env:NOPE}") == "environment variable NOPE is not set");
    CHECK(expand_problem("${NOPE}") == "environment variable NOPE is not set");
    CHECK(expand_problem("${config:editor.tabSize}") == "unsupported variable ${config:editor.tabSize}");
    CHECK(expand_problem("${}") == "unsupported variable ${}");
    CHECK(expand_problem("${input:key}") == "missing value of input key");
    CHECK(expand_problem("${file:/no/such/file}").find("/no/such/file") != std::string::npos);
}

TEST_CASE("an input is asked for once; without a question its default is used") {
    config::variables v = some();
    config_input key;
    key.id = "key";
    key.type = "promptString";
    key.preset = "preset";
    v.inputs.emplace("key", key);
    CHECK(expand("${input:key}", v) == "preset");

    config::variables asking = some();
    asking.inputs.emplace("key", key);
    int asked = 0;
    asking.ask = [&](const config_input& in) -> std::optional<std::string> {
        ++asked;
        CHECK(in.type == "promptString");
        return "typed";
    };
    CHECK(expand("${input:key} ${input:key}", asking) == "typed typed");
    CHECK(asked == 1);
}

TEST_CASE("${file:PATH} is the text of a file without its last line break") {
    std::string path = "/tmp/keel-config-" + std::to_string(::getpid());
    std::ofstream(path) << "token\n";
    config::variables v = some();
    CHECK(expand("${file:" + path + "}", v) == "token");
    std::filesystem::remove(path);
}

TEST_CASE("an envFile has lines NAME=VALUE") {
    auto all = config::read_env_file(
        "# comment\n\nA=1\nexport B = two words # why\r\nC=\"x\\n\\\"y\\\"\"\nD='a\\n#'\nE=\nF=a=b");
    using pair = std::pair<std::string, std::string>;
    CHECK(all == std::vector<pair>{
                     {"A", "1"}, {"B", "two words"}, {"C", "x\n\"y\""}, {"D", "a\\n#"}, {"E", ""}, {"F", "a=b"}});
    CHECK_THROWS_WITH_AS(config::read_env_file("A=1\noops"), "line 2: expected NAME=VALUE", config_error);
}
