#pragma once

// Servers by name, from the configuration files of other MCP clients: Claude Desktop, Claude Code, Cursor, VS Code and Windsurf.
//
//     keel::server_config config = keel::load_config(".mcp.json");
//     keel::client client(config.at("fs"));
//
// See docs/client.md.

#include <keel/json.hpp>
#include <keel/server_target.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace keel::inline KEEL_ABI {

/// A configuration file is missing or invalid, or a server in it is unknown or invalid. The text names the file, the server and the
/// member: `.mcp.json: server "fs": args[1]: expected string, found integer`.
class KEEL_API config_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    ~config_error() override;
};

/// A value that the user is asked for: an element of `inputs` in a file of VS Code.
struct KEEL_API config_input {
    std::string id = {};
    std::string type = {};  // "promptString", "pickString" or "command"; "" if the file does not define the input
    std::string description = {};
    std::optional<std::string> preset = {};  // `default`
    std::vector<std::string> options = {};   // the choices of pickString
    bool password = false;
};

struct KEEL_API config_options {
    /// The value of ${workspaceFolder}. "": the folder of a project file (`.mcp.json`, `.vscode/mcp.json`, `.cursor/mcp.json`), for
    /// other files the current directory.
    std::string workspace = {};
    /// Returns the value of ${input:id}; nullopt makes resolving the server fail. Not set: the default of the input.
    std::function<std::optional<std::string>(const config_input&)> input = {};
    /// Reads an environment variable. Not set: std::getenv.
    std::function<std::optional<std::string>(const std::string& name)> environment = {};
    /// Maximum size of a file in bytes.
    std::size_t max_size = 16 * 1024 * 1024;
};

/// One server as a file lists it. Variables are not expanded: the texts may be shown without revealing secrets of the environment.
struct KEEL_API configured_server {
    enum class kind : unsigned char {
        stdio,
        http,
        sse,      // HTTP+SSE of 2024-11-05; the client detects the transport by itself
        invalid,  // `problem` tells why
    };
    std::string name = {};
    kind type = kind::invalid;
    std::string address = {};  // the command with its arguments, or the URL
    std::string file = {};
    bool disabled = false;     // by the file; the server can still be used
    bool of_project = false;   // listed in a file of a project, which may come from someone else
    std::string problem = {};  // not empty: the entry is invalid
};

/// The servers of one or more configuration files. Copies share their contents, which are immutable. Thread-safe as a standard
/// container.
class KEEL_API server_config {
public:
    server_config();

    /// In the order of the file.
    std::span<const configured_server> servers() const noexcept;
    bool contains(std::string_view name) const noexcept;
    /// Returns nullptr if there is no such server.
    const configured_server* find(std::string_view name) const noexcept;

    /// The address of a server, with variables expanded. Throws config_error if the server is unknown or invalid, or if a variable
    /// has no value.
    server_target at(std::string_view name) const;
    /// Same, for programs that change the address before they connect.
    std::variant<child_process, url> resolve(std::string_view name) const;

    /// Adds the servers of `other` whose names are not used yet.
    void add(const server_config& other);

private:
    friend struct config_access;
    struct entry;
    std::vector<configured_server> servers_;
    std::vector<std::shared_ptr<const entry>> entries_;  // one for each of servers_
};

/// Reads a configuration file. All formats are accepted in every file: servers in `mcpServers`, `servers` or `mcp.servers`, comments
/// and trailing commas; in `~/.claude.json` the servers of the project in `workspace` come first. Unknown members are ignored. An
/// invalid server does not make the function fail: see configured_server::problem. Throws config_error if the file cannot be read,
/// is too large, or is not valid JSON.
KEEL_API server_config load_config(const std::string& path, config_options options = {});

/// A place where a host keeps its configuration.
struct KEEL_API config_place {
    std::string path = {};
    std::string host = {};    // "Claude Code", …
    bool of_project = false;  // in the workspace, not in the home directory
};

/// The project folder of a directory: the nearest parent with a file of a host or a `.git`; the directory itself if there is none.
/// "": the current directory. The home directory and the folders above it are not searched.
KEEL_API std::string find_workspace(const std::string& directory = {});
/// The usual configuration files, those with precedence first: the files of the workspace, then those in the home directory. The
/// files may be missing.
KEEL_API std::vector<config_place> usual_config_files(const std::string& workspace);

/// Parses JSON with comments and trailing commas (JSONC), as in configuration files. Throws config_error with `source`, the line and
/// the column.
KEEL_API json::value parse_jsonc(std::string_view text, const std::string& source);

}  // namespace keel
