#include "server_choice.hpp"

#include "config_search.hpp"
#include "exit_status.hpp"
#include "suggest.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace keel::command {

namespace {

constexpr const char* all_ways =
    "name a configured server (keel servers lists them) or a URL first, or use --url URL, --unix PATH, --tcp "
    "HOST:PORT, or "
    "-- COMMAND [ARGUMENT ...]";

bool is_url(std::string_view word) { return word.starts_with("http://") || word.starts_with("https://"); }

/// The configured server that the word names, alone or with the name of a feature. Names of servers may contain dots: the longest
/// one wins.
const configured_server* named_by(std::string_view word, word_form form, const server_config& servers) {
    const configured_server* found = nullptr;
    for (const configured_server& each : servers.servers()) {
        bool with_feature =
            form == word_form::server_and_name && word.size() > each.name.size() + 1 && word[each.name.size()] == '.';
        if (!word.starts_with(each.name) || !(word.size() == each.name.size() || with_feature)) continue;
        if (!found || each.name.size() > found->name.size()) found = &each;
    }
    return found;
}

bool same_header(std::string_view a, std::string_view b) {
    auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return small(x) == small(y); });
}

// What the command line says takes precedence over the file.
void fill_in(options& o, url&& from) {
    o.url = std::move(from.address);
    for (auto& header : from.headers) {
        bool given = std::any_of(o.headers.begin(), o.headers.end(),
                                 [&](const auto& each) { return same_header(each.first, header.first); });
        if (!given) o.headers.push_back(std::move(header));
    }
}

void fill_in(options& o, child_process&& from) {
    o.child.push_back(std::move(from.command));
    for (std::string& each : from.arguments) o.child.push_back(std::move(each));
    if (o.directory.empty()) o.directory = std::move(from.directory);
    for (auto& variable : from.environment) {
        bool given = std::any_of(o.environment.begin(), o.environment.end(),
                                 [&](const auto& each) { return each.first == variable.first; });
        if (!given) o.environment.push_back(std::move(variable));
    }
}

}  // namespace

void choose_server(options& o, word_form form) {
    if (o.has_server()) return;
    if (o.words.empty()) throw usage_error(std::string("missing server: ") + all_ways);
    std::string word = o.words[0];
    if (is_url(word)) {
        o.url = word;
        o.words.erase(o.words.begin());
    } else {
        found_servers all = search_config(o);
        const configured_server* server = named_by(word, form, all.servers);
        if (!server) {
            std::string name = word.substr(0, form == word_form::server_and_name ? word.find('.') : std::string::npos);
            throw usage_error("unknown server " + name + did_you_mean(name, all.names()) + "\n" + all.files_text() +
                              "\n" + all_ways);
        }
        o.server_name = server->name;
        o.server_file = server->file;
        if (word.size() == server->name.size()) o.words.erase(o.words.begin());
        else o.words[0] = word.substr(server->name.size() + 1);
        try {
            std::visit([&](auto&& address) { fill_in(o, std::move(address)); }, all.servers.resolve(server->name));
        } catch (const config_error& e) {
            throw usage_error(e.what());
        }
    }
    if (std::string why = check_server_options(o); !why.empty()) throw usage_error(why);
}

}  // namespace keel::command
