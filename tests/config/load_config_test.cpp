#include <keel/blocking_client.hpp>
#include <keel/config.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

using namespace keel;
namespace fs = std::filesystem;

namespace {

/// A folder for one test.
struct folder {
    folder() : path(fs::temp_directory_path() / ("keel-config-" + std::to_string(::getpid()))) {
        fs::remove_all(path);
        fs::create_directories(path);
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    ~folder() { fs::remove_all(path); }

    std::string write(const std::string& name, std::string_view text) const {
        fs::path file = path / name;
        fs::create_directories(file.parent_path());
        std::ofstream(file, std::ios::binary) << text;
        return file.string();
    }
    fs::path path;
};

config_options with_environment(std::map<std::string, std::string> values) {
    config_options o;
    o.environment = [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
        auto found = values.find(name);
        return found == values.end() ? std::nullopt : std::optional(found->second);
    };
    return o;
}

child_process program_of(const server_config& c, std::string_view name) {
    return std::get<child_process>(c.resolve(name));
}

std::string problem_of(const server_config& c, std::string_view name) {
    try {
        c.resolve(name);
    } catch (const config_error& e) {
        return e.what();
    }
    return {};
}

}  // namespace

TEST_CASE("Claude Desktop: programs in mcpServers") {
    folder at;
    std::string file = at.write("claude_desktop_config.json", R"({"globalShortcut": "x", "mcpServers": {
        "fs": {"command": "npx", "args": ["-y", "server-fs", "/data"], "env": {"KEY": "v", "PORT": 8080}}}})");
    server_config c = load_config(file);
    REQUIRE(c.servers().size() == 1);
    CHECK(c.servers()[0].name == "fs");
    CHECK(c.servers()[0].type == configured_server::kind::stdio);
    CHECK(c.servers()[0].address == "npx -y server-fs /data");
    CHECK(c.servers()[0].file == file);
    CHECK_FALSE(c.servers()[0].of_project);
    child_process p = program_of(c, "fs");
    CHECK(p.command == "npx");
    CHECK(p.arguments == std::vector<std::string>{"-y", "server-fs", "/data"});
    CHECK(p.environment == std::vector<std::pair<std::string, std::string>>{{"KEY", "v"}, {"PORT", "8080"}});
    CHECK(p.directory == "");
    CHECK_FALSE(p.inherit_environment);
}

TEST_CASE("Claude Code: a project file with ${NAME:-default}, programs and URLs") {
    folder at;
    std::string file = at.write(".mcp.json", R"({"mcpServers": {
        "api": {"type": "http", "url": "${BASE:-https://api.example.com}/mcp",
                "headers": {"Authorization": "Bearer ${KEY}"}},
        "old": {"type": "sse", "url": "https://old.example.com/sse"},
        "own": {"command": "./server", "args": ["${workspaceFolder}/data"], "cwd": "sub"},
        "here": {"command": "./server"}}})");
    server_config c = load_config(file, with_environment({{"KEY", "k"}}));
    auto api = std::get<url>(c.resolve("api"));
    CHECK(api.address == "https://api.example.com/mcp");
    CHECK(api.headers == std::vector<std::pair<std::string, std::string>>{{"Authorization", "Bearer k"}});
    CHECK(c.find("old")->type == configured_server::kind::sse);
    CHECK(c.find("old")->of_project);
    CHECK(program_of(c, "own").arguments[0] == at.path.string() + "/data");
    CHECK(program_of(c, "own").directory == at.path.string() + "/sub");
    CHECK(program_of(c, "here").directory == at.path.string());
}

TEST_CASE("Claude Code: ~/.claude.json with servers of the user and of single projects") {
    folder at;
    std::string file = at.write(".claude.json", R"({"numStartups": 7,
        "mcpServers": {"a": {"command": "user-a"}, "b": {"command": "user-b"}},
        "projects": {"/work/x": {"allowedTools": [], "mcpServers": {"a": {"command": "x-a"}}},
                     "/work/y": {"mcpServers": {"c": {"command": "y-c"}}}}})");
    config_options o;
    o.workspace = "/work/x/deep";
    server_config c = load_config(file, o);
    CHECK(program_of(c, "a").command == "x-a");
    CHECK(program_of(c, "b").command == "user-b");
    CHECK_FALSE(c.contains("c"));
    o.workspace = "/work";
    CHECK(program_of(load_config(file, o), "a").command == "user-a");
}

TEST_CASE("Cursor: ${env:NAME}, ${userHome} and an envFile") {
    folder at;
    at.write(".env", "A=from file\nB=from file\n");
    std::string file = at.write(".cursor/mcp.json", R"({"mcpServers": {"s": {
        "command": "${userHome}/bin/s", "args": ["${env:KEY}"], "envFile": "${workspaceFolder}/.env", "env": {"B": "own"}}}})");
    child_process p = program_of(load_config(file, with_environment({{"HOME", "/home/ada"}, {"KEY", "k"}})), "s");
    CHECK(p.command == "/home/ada/bin/s");
    CHECK(p.arguments[0] == "k");
    CHECK(p.environment == std::vector<std::pair<std::string, std::string>>{{"A", "from file"}, {"B", "own"}});
    CHECK(p.directory == at.path.string());
}

TEST_CASE("VS Code: servers, inputs, comments and trailing commas") {
    folder at;
    std::string file = at.write(".vscode/mcp.json", R"({
        // asked for at the first start
        "inputs": [{"type": "promptString", "id": "key", "description": "API key", "password": true},
                   {"type": "pickString", "id": "mode", "options": ["a", "b"], "default": "b"},],
        "servers": {"s": {"type": "stdio", "command": "s", "env": {"KEY": "${input:key}", "MODE": "${input:mode}"},},
                    "h": {"url": "http://127.0.0.1:1/mcp"}}})");
    config_options o;
    o.input = [](const config_input& in) -> std::optional<std::string> {
        if (in.id == "mode") return in.preset;
        CHECK(in.password);
        CHECK(in.description == "API key");
        return "typed";
    };
    child_process p = program_of(load_config(file, o), "s");
    CHECK(p.environment == std::vector<std::pair<std::string, std::string>>{{"KEY", "typed"}, {"MODE", "b"}});
    CHECK(load_config(file).find("h")->type == configured_server::kind::http);
    CHECK(problem_of(load_config(file), "s") == file + ": server \"s\": env.KEY: missing value of input key");

    std::string settings = at.write("settings.json", R"({"mcp": {"servers": {"s": {"command": "s"}}}})");
    CHECK(load_config(settings).contains("s"));
}

TEST_CASE("Windsurf: serverUrl and disabled") {
    folder at;
    std::string file = at.write("mcp_config.json", R"({"mcpServers": {
        "r": {"serverUrl": "https://x.example/mcp", "headers": {"X-Key": "${env:KEY}"}, "disabled": true, "disabledTools": []}}})");
    server_config c = load_config(file, with_environment({{"KEY", "k"}}));
    CHECK(c.find("r")->disabled);
    CHECK(c.find("r")->address == "https://x.example/mcp");
    CHECK(std::get<url>(c.resolve("r")).headers[0].second == "k");
}

TEST_CASE("an invalid server is reported with file, name and member, and does not affect the others") {
    folder at;
    std::string file = at.write("mcp.json", R"({"mcpServers": {
        "number": {"command": "x", "args": ["a", {}]},
        "env": {"command": "x", "env": {"A": ["b"]}},
        "empty": {},
        "list": [],
        "type": {"type": "websocket", "url": "ws://x"},
        "transport": {"transport": "pigeon", "url": "http://x"},
        "ftp": {"url": "ftp://x"},
        "unset": {"command": "x", "args": ["ok", "${NOPE}"]},
        "equals": {"command": "x", "env": {"A=B": "c"}},
        "good": {"command": "x", "unknownMember": {"deep": [1]}}}})");
    server_config c = load_config(file, with_environment({}));
    auto text = [&](const char* name) { return file + ": server \"" + name + "\": "; };
    CHECK(problem_of(c, "number") == text("number") + "args[1]: expected string, found object");
    CHECK(c.find("number")->problem == "args[1]: expected string, found object");
    CHECK(problem_of(c, "env") == text("env") + "env.A: expected string, found array");
    CHECK(problem_of(c, "empty") == text("empty") + "missing command or url");
    CHECK(problem_of(c, "list") == text("list") + "the entry: expected object, found array");
    CHECK(problem_of(c, "type") == text("type") + "type: unsupported transport \"websocket\"");
    CHECK(problem_of(c, "transport") == text("transport") + "type: unsupported transport \"pigeon\"");
    CHECK(problem_of(c, "ftp") == text("ftp") + "url: expected an http or https URL, found \"ftp://x\"");
    CHECK(problem_of(c, "unset") == text("unset") + "args[1]: environment variable NOPE is not set");
    CHECK(c.find("unset")->problem == "");  // another environment may have it
    CHECK(problem_of(c, "equals") == text("equals") + "env.A=B: invalid name");
    CHECK(problem_of(c, "good") == "");
    CHECK(problem_of(c, "nope") == "unknown server \"nope\"");
}

TEST_CASE("a file that is missing, too large or invalid throws") {
    folder at;
    CHECK_THROWS_AS(load_config((at.path / "none.json").string()), config_error);
    CHECK_THROWS_AS(load_config(at.path.string()), config_error);
    CHECK_THROWS_AS(load_config(at.write("a.json", "[1]")), config_error);
    CHECK_THROWS_AS(load_config(at.write("b.json", R"({"mcpServers": [1]})")), config_error);
    config_options o;
    o.max_size = 10;
    CHECK_THROWS_AS(load_config(at.write("c.json", R"({"mcpServers": {}})"), o), config_error);
    o.max_size = 18;
    CHECK(load_config((at.path / "c.json").string(), o).servers().empty());
}

TEST_CASE("the first of several files with the same server wins") {
    folder at;
    server_config c = load_config(at.write("1.json", R"({"mcpServers": {"a": {"command": "one"}}})"));
    c.add(load_config(at.write("2.json", R"({"mcpServers": {"a": {"command": "two"}, "b": {"command": "two"}}})")));
    CHECK(program_of(c, "a").command == "one");
    CHECK(program_of(c, "b").command == "two");
}

TEST_CASE("a client connects to a server by its name") {
    folder at;
    // A server that answers every request with an error, so that connecting fails after the program was started.
    std::string file = at.write(".mcp.json", R"({"mcpServers": {"s": {"command": "sh",
        "args": ["-c", "echo \"$GIVEN $PWD\" > out"], "env": {"GIVEN": "given"}}}})");
    server_config config = load_config(file);
    blocking_client client(config.at("s"));
    CHECK_THROWS(client.connect());
    std::string line;
    std::ifstream out(at.path / "out");
    std::getline(out, line);
    CHECK(line == "given " + at.path.string());
}

TEST_CASE("the workspace is the nearest folder with a file of a host or .git, below the home directory") {
    folder at;
    at.write("home/.mcp.json", "{}");
    at.write("home/p/.vscode/mcp.json", "{}");
    at.write("home/p/a/b/x", "");
    at.write("home/q/x", "");
    std::string old = std::getenv("HOME") ? std::getenv("HOME") : "";
    ::setenv("HOME", (at.path / "home").c_str(), 1);
    auto in = [&](const char* name) { return (at.path / name).string(); };
    CHECK(find_workspace(in("home/p/a/b")) == in("home/p"));
    CHECK(find_workspace(in("home/p/")) == in("home/p"));
    CHECK(find_workspace(in("home/q")) == in("home/q"));
    auto places = usual_config_files(in("home/p"));
    CHECK(places.front().path == in("home/p/.mcp.json"));
    CHECK(places.front().of_project);
    bool claude = false;
    for (const config_place& each : places) {
        claude = claude || (each.path == in("home/.claude.json") && each.host == "Claude Code" && !each.of_project);
    }
    CHECK(claude);
    ::setenv("HOME", old.c_str(), 1);
}
