#include <keel/config.hpp>

#include "config/entry.hpp"
#include "config/variables.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <utility>

namespace keel::inline KEEL_ABI {

/// What is needed to resolve one server. The texts of the file are owned.
struct server_config::entry {
    json::value content;
    std::string default_directory;
    std::shared_ptr<const config::variables> variables;  // of the file
};

namespace {

using config::variables;

/// The folder of a project file; "" if the path is not one of those that hosts use for projects.
std::string project_of(const std::filesystem::path& file) {
    std::filesystem::path folder = file.parent_path();
    if (file.filename() == ".mcp.json") return folder.string();
    bool host = folder.filename() == ".vscode" || folder.filename() == ".cursor";
    return host && file.filename() == "mcp.json" ? folder.parent_path().string() : std::string();
}

std::map<std::string, config_input> read_inputs(const json::value& inputs) {
    std::map<std::string, config_input> all;
    for (const json::value& each : inputs.items()) {
        config_input in;
        auto text = [&](const char* name) { return std::string(each[name].if_string().value_or("")); };
        in.id = text("id");
        in.type = text("type");
        in.description = text("description");
        in.password = each["password"].if_bool().value_or(false);
        if (auto preset = each["default"].if_string()) in.preset = std::string(*preset);
        for (const json::value& option : each["options"].items()) {
            auto value = option.if_string() ? option.if_string() : option["value"].if_string();
            if (value) in.options.emplace_back(*value);
        }
        if (!in.id.empty()) all.emplace(in.id, std::move(in));
    }
    return all;
}

/// `~/.claude.json` has servers of single projects, by folder. A project also applies to the folders in it.
const json::value& servers_of_project(const json::value& projects, const std::string& workspace) {
    std::filesystem::path folder = workspace;
    while (true) {
        const json::value& servers = projects[folder.string()]["mcpServers"];
        if (servers.is_object()) return servers;
        if (!folder.has_relative_path()) return servers;
        folder = folder.parent_path();
    }
}

void require_object(const json::value& v, const std::string& file, const char* path) {
    if (!v.is_null() && !v.is_object())
        throw config_error(file + ": " + path + ": expected object, found " + std::string(json::name_of(v.type())));
}

std::string absolute(const std::string& path) {
    std::error_code unknown;
    std::filesystem::path full = std::filesystem::absolute(path, unknown);
    return (unknown ? std::filesystem::path(path) : full).lexically_normal().string();
}

}  // namespace

struct config_access {
    static void add(server_config& to, const json::value& servers, const server_config::entry& shared,
                    const configured_server& place) {
        for (const json::member& each : servers.members()) {
            if (to.contains(each.key())) continue;
            configured_server one = config::describe_entry(each.content);
            one.name = each.key();
            one.file = place.file;
            one.of_project = place.of_project;
            auto kept = std::make_shared<server_config::entry>(shared);
            kept->content = each.content;
            to.servers_.push_back(std::move(one));
            to.entries_.push_back(std::move(kept));
        }
    }
    using entry = server_config::entry;
};

server_config::server_config() = default;

std::span<const configured_server> server_config::servers() const noexcept { return servers_; }

const configured_server* server_config::find(std::string_view name) const noexcept {
    for (const configured_server& each : servers_) {
        if (each.name == name) return &each;
    }
    return nullptr;
}

bool server_config::contains(std::string_view name) const noexcept { return find(name) != nullptr; }

std::variant<child_process, url> server_config::resolve(std::string_view name) const {
    const configured_server* found = find(name);
    if (!found) throw config_error("unknown server \"" + std::string(name) + "\"");
    const entry& e = *entries_[static_cast<std::size_t>(found - servers_.data())];
    try {
        variables with = *e.variables;
        return config::resolve_entry(e.content, with, e.default_directory);
    } catch (const config_error& why) {
        throw config_error(found->file + ": server \"" + found->name + "\": " + why.what());
    }
}

server_target server_config::at(std::string_view name) const {
    return std::visit([](auto&& address) { return server_target(std::move(address)); }, resolve(name));
}

void server_config::add(const server_config& other) {
    for (std::size_t i = 0; i < other.servers_.size(); ++i) {
        if (contains(other.servers_[i].name)) continue;
        servers_.push_back(other.servers_[i]);
        entries_.push_back(other.entries_[i]);
    }
}

server_config load_config(const std::string& path, config_options options) {
    json::value root = parse_jsonc(config::read_file(path, options.max_size), path);
    if (!root.is_object())
        throw config_error(path + ": expected object, found " + std::string(json::name_of(root.type())));
    std::string project = project_of(absolute(path));
    auto vars = std::make_shared<variables>();
    vars->workspace = absolute(!options.workspace.empty() ? options.workspace : project.empty() ? "." : project);
    if (vars->workspace.size() > 1 && vars->workspace.ends_with('/')) vars->workspace.pop_back();
    vars->environment = options.environment ? std::move(options.environment)
                                            : [](const std::string& name) -> std::optional<std::string> {
        const char* value = std::getenv(name.c_str());
        return value ? std::optional<std::string>(value) : std::nullopt;
    };
    vars->ask = std::move(options.input);
    const json::value& settings = root["mcp"];  // settings.json of VS Code
    vars->inputs = read_inputs(root["inputs"].is_array() ? root["inputs"] : settings["inputs"]);

    server_config all;
    configured_server place;
    place.file = path;
    place.of_project = !project.empty();
    config_access::entry shared{{}, project.empty() ? std::string() : vars->workspace, vars};
    const json::value& local = servers_of_project(root["projects"], vars->workspace);
    config_access::entry of_project{{}, vars->workspace, vars};
    config_access::add(all, local, of_project, place);
    require_object(root["mcpServers"], path, "mcpServers");
    require_object(root["servers"], path, "servers");
    config_access::add(all, root["mcpServers"], shared, place);
    config_access::add(all, root["servers"], shared, place);
    config_access::add(all, settings["servers"], shared, place);
    return all;
}

}  // namespace keel
