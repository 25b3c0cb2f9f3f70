#include "config/env_file.hpp"

#include <keel/config.hpp>

namespace keel::inline KEEL_ABI::config {

namespace {

std::string_view trimmed_text(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
    return text;
}

/// Double quotes allow escapes; single quotes do not. Without quotes, " #" begins a comment.
std::string unquoted(std::string_view text) {
    bool quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front();
    if (!quoted) return std::string(trimmed_text(text.substr(0, text.find(" #"))));
    std::string out;
    for (std::size_t i = 1; i + 1 < text.size(); ++i) {
        bool escape = text.front() == '"' && text[i] == '\\' && i + 2 < text.size();
        if (escape) ++i;
        out += escape && text[i] == 'n' ? '\n' : text[i];
    }
    return out;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> read_env_file(std::string_view text) {
    std::vector<std::pair<std::string, std::string>> all;
    for (std::size_t number = 1; !text.empty(); ++number) {
        std::string_view line = trimmed_text(text.substr(0, text.find('\n')));
        text.remove_prefix(
            std::min(text.size(), text.find('\n') == std::string_view::npos ? text.size() : text.find('\n') + 1));
        if (line.empty() || line.front() == '#') continue;
        if (line.starts_with("export ")) line = trimmed_text(line.substr(7));
        auto equals = line.find('=');
        std::string_view name = trimmed_text(line.substr(0, equals));
        if (equals == std::string_view::npos || name.empty())
            throw config_error("line " + std::to_string(number) + ": expected NAME=VALUE");
        all.emplace_back(name, unquoted(trimmed_text(line.substr(equals + 1))));
    }
    return all;
}

}  // namespace keel::config
