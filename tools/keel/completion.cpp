#include "completion.hpp"

#include "commands.hpp"
#include "config_search.hpp"
#include "exit_status.hpp"
#include "option_table.hpp"
#include "schema_properties.hpp"
#include "schema_text.hpp"
#include "schema_types.hpp"

#include <algorithm>

namespace keel::command {

namespace {

/// `name`, `server.name`: the first line of a description is enough.
std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

void add_values(candidates& into, const std::string& key, const json::value& given, const json::value& root) {
    const json::value& schema = resolved_schema(given, root);
    for (const json::value& each : schema["enum"].items())
        into.words.push_back({key + "=" + std::string(each.if_string() ? *each.if_string() : json::to_string(each))});
    if (types_of(schema, root).only(type_set::boolean)) {
        for (const char* word : {"true", "false"}) into.words.push_back({key + "=" + word});
    }
}

void add_arguments(candidates& into, const std::vector<std::string>& given, const std::string& current,
                   const json::value& schema) {
    if (auto equals = current.find('='); equals != std::string::npos) {
        std::string key = current.substr(0, equals);
        if (const json::value* property = find_property(schema, key)) add_values(into, key, *property, schema);
        if (current.find("=@") != std::string::npos) into.also = candidates::paths::files;
        return;
    }
    for (const std::string& name : property_names(schema)) {
        const json::value& property = *find_property(schema, name);
        bool list = types_of(property, schema).has(type_set::array);
        bool used = std::any_of(given.begin(), given.end(),
                                [&](const std::string& each) { return each.starts_with(name + "="); });
        if (used && !list) continue;
        auto about = property["description"].if_string();
        into.words.push_back({name + "=", about ? first_line(*about) : schema_phrase(property, schema), false});
    }
}

void add_prompt_arguments(candidates& into, const prompt& p, const std::string& current, const feature_lookup& server) {
    if (auto equals = current.find('='); equals != std::string::npos) {
        std::string key = current.substr(0, equals);
        for (const std::string& each : server.prompt_values(p.name, key, current.substr(equals + 1)))
            into.words.push_back({key + "=" + each});
        return;
    }
    for (const prompt_argument& each : p.arguments)
        into.words.push_back({each.name + "=", first_line(each.description), false});
}

void add_options(candidates& into, std::string_view command) {
    for (const option& each : all_options()) {
        if (each.name != "--" && each.name != "-h" && belongs_to(each, command))
            into.words.push_back({std::string(each.name), std::string(each.about)});
    }
}

candidates option_value(const option& o) {
    candidates all;
    if (o.completes == option::completion::file) all.also = candidates::paths::files;
    if (o.completes == option::completion::directory) all.also = candidates::paths::directories;
    std::string_view rest = o.words;
    while (!rest.empty()) {
        std::string_view word = rest.substr(0, rest.find(' '));
        all.words.push_back({std::string(word)});
        rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    }
    return all;
}

candidates first_words() {
    candidates all;
    for (const command& each : all_commands()) all.words.push_back({std::string(each.name), each.about});
    all.words.push_back({"demo", "run a demo server with every feature"});
    all.words.push_back({"version", "print the version"});
    all.words.push_back({"help", "show the help"});
    return all;
}

void prefix_all(candidates& all, const std::string& prefix) {
    for (candidate& each : all.words) each.text = prefix + each.text;
}

/// The first word of a command without a server option: a server, or a server and a feature of it.
candidates server_words(const command& c, options o, const std::string& current,
                        const std::function<feature_lookup(const options&)>& find_server) {
    candidates all;
    found_servers known = search_config(o);
    bool features = c.first_word == word_form::server_and_name;
    for (const configured_server& each : known.servers.servers()) {
        if (features && current.starts_with(each.name + ".")) {
            o.words = {current + "x"};  // the feature has no name yet
            choose_server(o, c.first_word);
            candidates inside = complete_features(c.name, {""}, find_server(o));
            prefix_all(inside, each.name + ".");
            return inside;
        }
        bool more = c.name == "call" || c.name == "prompt";
        all.words.push_back({each.name + (more ? "." : ""), each.address, !more});
    }
    return all;
}

candidates of_command(const command& c, const std::vector<std::string>& words,
                      const std::function<feature_lookup(const options&)>& find_server) {
    const std::string& current = words.back();
    std::vector<const char*> before{"keel"};
    for (std::size_t i = 1; i + 1 < words.size(); ++i) before.push_back(words[i].c_str());
    options o = read_options(static_cast<int>(before.size()), before.data());
    o.no_input = true;
    candidates all;
    if (current.starts_with('-')) add_options(all, c.name);
    else if (c.name == "completion") all = {{{"bash"}, {"zsh"}, {"fish"}}};
    else if (c.local) return all;
    else if (!o.has_server() && o.words.empty()) all = server_words(c, o, current, find_server);
    else {
        choose_server(o, c.first_word);
        o.words.push_back(current);
        all = complete_features(c.name, o.words, find_server(o));
    }
    return all;
}

}  // namespace

candidates complete_features(std::string_view command, const std::vector<std::string>& words,
                             const feature_lookup& server) {
    candidates all;
    if (!server.tools) return all;
    const std::string& current = words.back();
    std::vector<std::string> given(words.begin(), words.end() - 1);
    if (command == "tools" || command == "call") {
        for (const tool& each : server.tools()) {
            if (given.empty()) all.words.push_back({each.name, first_line(each.description)});
            else if (command == "call" && each.name == given[0]) add_arguments(all, given, current, each.input_schema);
        }
    } else if (command == "prompt") {
        for (const prompt& each : server.prompts()) {
            if (given.empty()) all.words.push_back({each.name, first_line(each.description)});
            else if (each.name == given[0]) add_prompt_arguments(all, each, current, server);
        }
    } else if (command == "read" && given.empty()) {
        for (const resource& each : server.resources()) all.words.push_back({each.uri, each.name});
    }
    return all;
}

void keep_matching(candidates& all, std::string_view current) {
    std::erase_if(all.words, [&](const candidate& each) { return !each.text.starts_with(current); });
}

candidates complete(const std::vector<std::string>& words,
                    const std::function<feature_lookup(const options&)>& find_server) {
    candidates all;
    if (words.empty()) return all;
    try {
        const option* before = words.size() > 1 ? find_option(words[words.size() - 2]) : nullptr;
        const command* c = words.size() > 1 ? find_command(words[0]) : nullptr;
        if (std::find(words.begin(), words.end() - 1, "--") != words.end() - 1) all.also = candidates::paths::files;
        else if (before && !before->value.empty()) all = option_value(*before);
        else if (words.size() == 1 || words[0] == "help") all = first_words();
        else if (c) all = of_command(*c, words, find_server);
    } catch (const usage_error&) {
        return {};  // the line is wrong before its last word
    }
    keep_matching(all, words.back());
    return all;
}

std::vector<std::string> split_line(std::string_view line) {
    std::vector<std::string> words;
    std::string word;
    bool inside = false;
    char quote = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
        char c = line[i];
        bool escapes = c == '\\' && quote != '\'' && i + 1 < line.size();
        if (escapes) {
            word += line[++i];
            inside = true;
        } else if (quote != 0 ? c == quote : c == '"' || c == '\'') {
            quote = quote != 0 ? 0 : c;
            inside = true;
        } else if (quote == 0 && (c == ' ' || c == '\t')) {
            if (inside) words.push_back(std::move(word));
            word.clear();
            inside = false;
        } else {
            word += c;
            inside = true;
        }
    }
    words.push_back(std::move(word));
    return words;
}

}  // namespace keel::command
