#include "config/entry.hpp"

#include "config/env_file.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace keel::inline KEEL_ABI::config {

namespace {

using pairs = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t largest_env_file = 1024 * 1024;

[[noreturn]] void expected(const std::string& path, const char* what, const json::value& found) {
    throw config_error(path + ": expected " + what + ", found " + std::string(json::name_of(found.type())));
}

/// Null counts as absent.
const json::value* member(const json::value& of, const char* name) {
    const json::value* found = of.find(name);
    return found && !found->is_null() ? found : nullptr;
}

std::string text_of(const json::value& v, const std::string& path) {
    auto text = v.if_string();
    if (!text) expected(path, "string", v);
    if (text->find('\0') != std::string_view::npos) throw config_error(path + ": invalid character U+0000");
    return std::string(*text);
}

/// Hosts convert numbers and booleans in `env` and `headers` to text.
std::string scalar_text(const json::value& v, const std::string& path) {
    if (v.is_number() || v.is_bool()) return json::to_string(v);
    return text_of(v, path);
}

/// Reads the members of an entry; `expand_text` is applied to each text that may contain variables.
template <class Expand>
class entry_reader {
public:
    entry_reader(const json::value& entry, Expand expand_text) : entry_(entry), expand_(std::move(expand_text)) {}

    std::string text(const char* name) const {
        const json::value* v = member(entry_, name);
        return v ? expanded(name, text_of(*v, name)) : std::string();
    }
    std::vector<std::string> list(const char* name) const {
        std::vector<std::string> all;
        const json::value* v = member(entry_, name);
        if (!v) return all;
        if (!v->is_array()) expected(name, "array", *v);
        for (const json::value& each : v->items()) {
            std::string path = name + ("[" + std::to_string(all.size()) + "]");
            all.push_back(expanded(path, scalar_text(each, path)));
        }
        return all;
    }
    pairs object(const char* name) const {
        pairs all;
        const json::value* v = member(entry_, name);
        if (!v) return all;
        if (!v->is_object()) expected(name, "object", *v);
        for (const json::member& each : v->members()) {
            if (each.content.is_null()) continue;
            std::string path = std::string(name) + "." + std::string(each.key());
            bool unusable = each.key().empty() || each.key().find('\0') != std::string_view::npos;
            if (unusable || (name == std::string_view("env") && each.key().find('=') != std::string_view::npos))
                throw config_error(path + ": invalid name");
            all.emplace_back(each.key(), expanded(path, scalar_text(each.content, path)));
        }
        return all;
    }

private:
    std::string expanded(const std::string& path, const std::string& text) const {
        try {
            return expand_(text);
        } catch (const config_error& e) {
            throw config_error(path + ": " + e.what());
        }
    }

    const json::value& entry_;
    Expand expand_;
};

constexpr auto as_is = [](const std::string& text) { return text; };

configured_server::kind kind_of(const json::value& entry) {
    using enum configured_server::kind;
    if (!entry.is_object()) expected("the entry", "object", entry);
    std::string type = member(entry, "type") ? text_of(entry["type"], "type") : "";
    if (type.empty() && member(entry, "transport") && entry["transport"].is_string())
        type = text_of(entry["transport"], "transport");
    const std::string given = type;
    bool has_command = member(entry, "command") != nullptr;
    bool has_url = member(entry, "url") || member(entry, "serverUrl") || member(entry, "httpUrl");
    for (char& c : type) c = c == '-' || c == '_' ? ' ' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    std::erase(type, ' ');
    configured_server::kind kind = invalid;
    if (type.empty()) kind = has_command ? stdio : http;
    else if (type == "stdio" || type == "local") kind = stdio;
    else if (type == "http" || type == "streamablehttp" || type == "remote") kind = http;
    else if (type == "sse") kind = sse;
    else throw config_error("type: unsupported transport \"" + given + "\"");
    if (type.empty() && !has_command && !has_url) throw config_error("missing command or url");
    if (kind == stdio && !has_command) throw config_error("missing command");
    if (kind != stdio && !has_url) throw config_error("missing url");
    return kind;
}

const char* url_member(const json::value& entry) {
    return member(entry, "url") ? "url" : member(entry, "serverUrl") ? "serverUrl" : "httpUrl";
}

/// Checks everything that does not depend on variables.
std::string address_of(const json::value& entry, configured_server::kind kind) {
    entry_reader read(entry, as_is);
    read.object("env");
    read.object("headers");
    read.text("cwd");
    read.text("envFile");
    std::vector<std::string> arguments = read.list("args");
    if (kind != configured_server::kind::stdio) return read.text(url_member(entry));
    std::string all = read.text("command");
    if (all.empty()) throw config_error("command: expected a program, found an empty string");
    for (const std::string& each : arguments) all += " " + each;
    return all;
}

/// A relative path is relative to the workspace; "~/" is the home directory.
std::string path_in_workspace(const std::string& path, const variables& with) {
    if (path == "~" || path.starts_with("~/")) return home(with) + path.substr(1);
    return (std::filesystem::path(with.workspace) / path).lexically_normal().string();
}

void set(pairs& all, std::string name, std::string value) {
    auto same = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.first == name; });
    if (same != all.end()) same->second = std::move(value);
    else all.emplace_back(std::move(name), std::move(value));
}

}  // namespace

configured_server describe_entry(const json::value& entry) {
    configured_server server;
    server.disabled = entry["disabled"].if_bool().value_or(false);
    try {
        server.type = kind_of(entry);
        server.address = address_of(entry, server.type);
    } catch (const config_error& e) {
        server.type = configured_server::kind::invalid;
        server.problem = e.what();
    }
    return server;
}

std::variant<child_process, url> resolve_entry(const json::value& entry, variables& with,
                                               const std::string& default_directory) {
    configured_server::kind kind = kind_of(entry);
    entry_reader read(entry, [&](const std::string& text) { return expand(text, with); });
    if (kind != configured_server::kind::stdio) {
        url to;
        to.address = read.text(url_member(entry));
        if (!to.address.starts_with("http://") && !to.address.starts_with("https://"))
            throw config_error(std::string(url_member(entry)) + ": expected an http or https URL, found \"" +
                               to.address + "\"");
        to.headers = read.object("headers");
        return to;
    }
    child_process program;
    program.command = read.text("command");
    if (program.command.empty()) throw config_error("command: expected a program, found an empty string");
    if (program.command.starts_with("~/")) program.command.replace(0, 1, home(with));
    program.arguments = read.list("args");
    std::string directory = read.text("cwd");
    program.directory = directory.empty() ? default_directory : path_in_workspace(directory, with);
    if (std::string file = read.text("envFile"); !file.empty()) {
        try {
            program.environment = read_env_file(read_file(path_in_workspace(file, with), largest_env_file));
        } catch (const config_error& e) {
            throw config_error(std::string("envFile: ") + e.what());
        }
    }
    for (auto& [name, value] : read.object("env")) set(program.environment, std::move(name), std::move(value));
    return program;
}

}  // namespace keel::config
