// Where the hosts keep their configuration files.

#include <keel/config.hpp>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace keel::inline KEEL_ABI {

namespace {

namespace fs = std::filesystem;

struct known_place {
    const char* path;
    const char* host;
};

constexpr std::array<known_place, 3> in_workspace = {{
    {".mcp.json", "Claude Code"},
    {".cursor/mcp.json", "Cursor"},
    {".vscode/mcp.json", "VS Code"},
}};

// Those of macOS too: the folders do not exist elsewhere.
constexpr std::array<known_place, 9> in_home = {{
    {".claude.json", "Claude Code"},
    {".cursor/mcp.json", "Cursor"},
    {".config/Code/User/mcp.json", "VS Code"},
    {"Library/Application Support/Code/User/mcp.json", "VS Code"},
    {".codeium/windsurf/mcp_config.json", "Windsurf"},
    {".codeium/mcp_config.json", "Windsurf"},
    {".config/Claude/claude_desktop_config.json", "Claude Desktop"},
    {"Library/Application Support/Claude/claude_desktop_config.json", "Claude Desktop"},
    {".config/keel/mcp.json", "keel"},
}};

fs::path home_folder() {
    const char* home = std::getenv("HOME");
    return home && *home ? fs::path(home) : fs::path();
}

bool is_there(const fs::path& path) {
    std::error_code unknown;
    return fs::exists(path, unknown);
}

bool is_workspace(const fs::path& folder) {
    for (const known_place& each : in_workspace) {
        if (is_there(folder / each.path)) return true;
    }
    return is_there(folder / ".git");
}

}  // namespace

std::string find_workspace(const std::string& directory) {
    std::error_code unknown;
    fs::path start = fs::absolute(directory.empty() ? "." : directory, unknown).lexically_normal();
    if (!start.has_filename()) start = start.parent_path();  // "/a/b/"
    fs::path home = home_folder();
    for (fs::path at = start; at != home && at.has_relative_path(); at = at.parent_path()) {
        if (is_workspace(at)) return at.string();
    }
    return start.string();
}

std::vector<config_place> usual_config_files(const std::string& workspace) {
    std::vector<config_place> all;
    fs::path home = home_folder();
    if (!workspace.empty() && fs::path(workspace) != home) {
        for (const known_place& each : in_workspace)
            all.push_back({(fs::path(workspace) / each.path).string(), each.host, true});
    }
    if (home.empty()) return all;
    for (const known_place& each : in_home) all.push_back({(home / each.path).string(), each.host, false});
    return all;
}

}  // namespace keel
