#include "front_matter.hpp"

#include <charconv>
#include <optional>
#include <string>

namespace keel::conformance {

namespace {

[[noreturn]] void refuse(std::string_view what, std::string_view line) {
    throw json::error("front matter: " + std::string(what) + ": " + std::string(line));
}

std::string_view trimmed(std::string_view text) {
    auto first = text.find_first_not_of(' ');
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// Removes and returns the first line of `rest`, or nothing at the end.
std::optional<std::string_view> next_line(std::string_view& rest) {
    if (rest.empty()) return std::nullopt;
    auto end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

json::value single_quoted(std::string_view text) {
    std::string out;
    for (std::size_t i = 1; i + 1 < text.size(); ++i) {
        if (text[i] == '\'' && text[++i] != '\'') refuse("a stray quote", text);
        if (i + 1 == text.size()) refuse("a stray quote", text);
        out += text[i];
    }
    return out;
}

/// The core schema of YAML 1.2, as far as it matches JSON.
json::value plain(std::string_view text) {
    if (text.empty() || text == "null" || text == "~") return nullptr;
    if (text == "true") return true;
    if (text == "false") return false;
    std::int64_t n = 0;
    auto [integer_end, integer_error] = std::from_chars(text.begin(), text.end(), n);
    if (integer_error == std::errc() && integer_end == text.end()) return n;
    if (text.find_first_not_of("+-.0123456789eE") != std::string_view::npos) return text;  // also "nan" and "inf"
    double d = 0;
    auto [real_end, real_error] = std::from_chars(text.begin(), text.end(), d);
    if (real_error == std::errc() && real_end == text.end()) return d;
    return text;
}

json::value scalar(std::string_view text) {
    if (text.starts_with('"')) return json::parse(text);
    if (text.starts_with('\'')) {
        if (text.size() < 2 || !text.ends_with('\'')) refuse("a quote that does not end", text);
        return single_quoted(text);
    }
    if (auto comment = text.find(" #"); comment != std::string_view::npos) text = trimmed(text.substr(0, comment));
    bool special = !text.empty() && std::string_view("[]{},&*!|>%@`#").find(text.front()) != std::string_view::npos;
    if (special || text == "-" || text.starts_with("- ") || text.starts_with("? ")) {
        refuse("only scalars are understood", text);
    }
    if (text.find(": ") != std::string_view::npos || text.ends_with(':')) refuse("a mapping inside a line", text);
    return plain(text);
}

void add(json::value& to, std::string_view line) {
    auto colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0) refuse("no key", line);
    std::string_view rest = line.substr(colon + 1);
    if (!rest.empty() && !rest.starts_with(' ')) refuse("no key", line);
    std::string_view key = trimmed(line.substr(0, colon));
    if (to.contains(key)) refuse("a key that is there twice", line);
    to.append(key, scalar(trimmed(rest)));
}

}  // namespace

json::value read_front_matter(std::string_view file) {
    std::optional<std::string_view> line = next_line(file);
    if (!line || *line != "---") throw json::error("front matter: missing");
    json::value found = json::object();
    while ((line = next_line(file))) {
        if (*line == "---") return found;
        std::string_view text = trimmed(*line);
        if (text.empty() || text.starts_with('#')) continue;
        if (!line->starts_with(' ')) {
            add(found, text);
            continue;
        }
        // An indented line belongs to the last key, which has no value of its own.
        if (found.empty()) refuse("indented without a key before", *line);
        json::value& parent = found.members().back().content;
        if (parent.is_null()) parent = json::object();
        if (!parent.is_object()) refuse("text over several lines", *line);
        add(parent, text);
    }
    throw json::error("front matter: missing end line");
}

}  // namespace keel::conformance
