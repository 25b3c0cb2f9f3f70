#include "options.hpp"

#include "option_table.hpp"
#include "suggest.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <vector>

namespace keel::command {

namespace {

constexpr std::array<std::string_view, 8> protocols = {"auto",       "legacy",     "modern",     "2024-11-05",
                                                       "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"};

std::optional<duration> read_duration(std::string_view text) {
    double n = 0;
    auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), n, std::chars_format::fixed);
    if (wrong != std::errc() || !(n > 0 && n <= 1e6)) return std::nullopt;  // also rejects NaN
    std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
    double seconds = unit.empty() || unit == "s" ? 1 : unit == "ms" ? 0.001 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
    if (seconds == 0) return std::nullopt;
    return std::chrono::duration_cast<duration>(std::chrono::duration<double>(n * seconds));
}

std::optional<std::size_t> read_size(std::string_view text) {
    std::size_t n = 0;
    auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), n);
    std::string unit(text.substr(static_cast<std::size_t>(end - text.data())));
    if (wrong != std::errc() || n == 0) return std::nullopt;
    if (unit.ends_with("iB")) unit.resize(unit.size() - 2);
    for (char& c : unit) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c;
    unsigned shift = unit.empty() || unit == "B" ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 64;
    constexpr std::size_t most = std::size_t{1} << 40;
    if (shift == 64 || n > most >> shift) return std::nullopt;
    return n << shift;
}

bool is_header_name(std::string_view name) {
    auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
    };
    return !name.empty() && std::all_of(name.begin(), name.end(), allowed);
}

bool is_header_value(std::string_view value) {
    return std::none_of(value.begin(), value.end(), [](char c) {
        auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && c != '\t') || byte == 0x7f;
    });
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

std::vector<std::string> long_options() {
    std::vector<std::string> names;
    for (const option& each : all_options()) {
        if (each.name.size() > 2) names.emplace_back(each.name);
    }
    return names;
}

class reader {
public:
    reader(int argc, const char* const* argv) : argc_(argc), argv_(argv) {}

    options read() {
        while (++at_ < argc_ && !into_.help) {
            std::string_view word = argv_[at_];
            if (word == "--") {
                child();
                break;
            }
            if (!word.starts_with('-') || word == "-") into_.words.emplace_back(word);
            else option(word);
        }
        check();
        return std::move(into_);
    }

private:
    void wrong(std::string why) {
        if (into_.problem.empty()) into_.problem = std::move(why);
    }

    void child() {
        for (int i = at_ + 1; i < argc_; ++i) into_.child.emplace_back(argv_[i]);
        if (into_.child.empty()) wrong("missing command after --: give the program that starts the server");
    }

    std::string value(const char* what) {
        if (attached_) return *attached_;
        if (at_ + 1 < argc_ && std::string_view(argv_[at_ + 1]) != "--") return argv_[++at_];
        wrong("missing value of " + name_ + ": expected " + what);
        return {};
    }

    void once(std::string& into, const char* what) {
        if (!into.empty()) wrong(name_ + " may be given only once");
        into = value(what);
        if (into.empty()) wrong("missing value of " + name_ + ": expected " + what);
    }

    void flag(bool& into) {
        if (attached_) wrong(name_ + " takes no value");
        into = true;
    }

    void option(std::string_view word) {
        attached_.reset();
        if (auto equals = word.find('='); equals != std::string_view::npos && word.starts_with("--")) {
            attached_ = std::string(word.substr(equals + 1));
            word = word.substr(0, equals);
        }
        name_ = std::string(word);
        if (word == "--help" || word == "-h") flag(into_.help);
        else if (word == "--url") once(into_.url, "a URL");
        else if (word == "--unix") once(into_.unix_path, "a path");
        else if (word == "--tcp") once(into_.tcp, "HOST:PORT");
        else if (word == "--json") flag(into_.json);
        else if (word == "--verbose") flag(into_.verbose);
        else if (word == "--no-input") flag(into_.no_input);
        else if (word == "--templates") flag(into_.templates);
        else if (word == "--edit") flag(into_.edit);
        else if (word == "--inherit-env") flag(into_.inherit_environment);
        else if (word == "--config") once(into_.config_file, "a file");
        else if (word == "--input") pair(into_.inputs, value("ID=VALUE"), "ID=VALUE");
        else if (word == "--history") into_.history = value("a file");
        else if (word == "--cwd") once(into_.directory, "a directory");
        else if (word == "--ca-file") once(into_.ca_file, "a file");
        else if (word == "--header") header(value("'Name: value'"));
        else if (word == "--env") pair(into_.environment, value("NAME=VALUE"), "NAME=VALUE");
        else if (word == "--timeout") time(into_.timeout, value("a duration"));
        else if (word == "--connect-timeout") time(into_.connect_timeout, value("a duration"));
        else if (word == "--max-message") size(value("a size"));
        else if (word == "--protocol") protocol(value("auto, legacy, modern or a version"));
        else if (word == "--log-level") level(value("a level"));
        else wrong("unknown option: " + name_ + did_you_mean(name_, long_options()));
    }

    void header(const std::string& text) {
        auto colon = text.find(':');
        std::string name = text.substr(0, colon);
        std::string content(colon == std::string::npos ? "" : trimmed(std::string_view(text).substr(colon + 1)));
        if (colon == std::string::npos || !is_header_name(name) || !is_header_value(content))
            wrong("invalid --header " + text + ": expected 'Name: value'");
        into_.headers.emplace_back(std::move(name), std::move(content));
    }

    void pair(std::vector<std::pair<std::string, std::string>>& into, const std::string& text, const char* form) {
        auto equals = text.find('=');
        if (equals == std::string::npos || equals == 0)
            return wrong("invalid " + name_ + " " + text + ": expected " + form);
        into.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }

    void time(std::optional<duration>& into, const std::string& text) {
        into = read_duration(text);
        if (!into) wrong("invalid " + name_ + " " + text + ": expected a duration such as 30s, 500ms or 5m");
    }

    void size(const std::string& text) {
        into_.max_message = read_size(text);
        if (!into_.max_message) wrong("invalid --max-message " + text + ": expected a size such as 500K, 64M or 1G");
    }

    void protocol(std::string text) {
        if (std::find(protocols.begin(), protocols.end(), text) == protocols.end()) {
            std::string known;
            for (std::string_view each : protocols) known += (known.empty() ? "" : ", ") + std::string(each);
            wrong("invalid --protocol " + text + ": expected one of " + known);
        }
        into_.protocol = std::move(text);
    }

    void level(const std::string& text) {
        into_.level = find_log_level(text);
        if (!into_.level) {
            wrong("invalid --log-level " + text +
                  ": expected debug, info, notice, warning, error, critical, alert or emergency");
        }
    }

    void check() {
        if (into_.help) return;
        int servers = !into_.url.empty() + !into_.unix_path.empty() + !into_.tcp.empty() + !into_.child.empty();
        if (servers > 1) wrong("more than one server: use only one of --url, --unix, --tcp and --");
        if (servers == 1) wrong_if(check_server_options(into_));
        if (servers == 1 && !into_.config_file.empty()) wrong("--config requires the name of a server in it");
    }
    void wrong_if(std::string why) {
        if (!why.empty()) wrong(std::move(why));
    }

    int argc_;
    const char* const* argv_;
    int at_ = 0;
    std::string name_;
    std::optional<std::string> attached_;
    options into_;
};

}  // namespace

std::string check_server_options(const options& o) {
    if (!o.url.empty() && !o.url.starts_with("http://") && !o.url.starts_with("https://"))
        return "invalid --url " + o.url + ": expected http:// or https://";
    if (o.url.empty() && !o.headers.empty()) return "--header requires a URL (--url)";
    if (o.url.empty() && !o.ca_file.empty()) return "--ca-file requires a URL (--url)";
    if (o.child.empty() && !o.environment.empty()) return "--env requires a program (-- COMMAND)";
    if (o.child.empty() && !o.directory.empty()) return "--cwd requires a program (-- COMMAND)";
    if (o.child.empty() && o.inherit_environment) return "--inherit-env requires a program (-- COMMAND)";
    return {};
}

options read_options(int argc, const char* const* argv) { return reader(argc, argv).read(); }

}  // namespace keel::command
