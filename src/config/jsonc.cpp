#include "config/jsonc.hpp"

#include <keel/config.hpp>
#include <keel/json.hpp>

#include <algorithm>

namespace keel::inline KEEL_ABI {

namespace config {

namespace {

bool is_white(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

void blank(std::string& text, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
        if (text[i] != '\n' && text[i] != '\r') text[i] = ' ';
    }
}

/// The end of a comment that begins at `at`; `at` if there is none.
std::size_t end_of_comment(std::string_view text, std::size_t at) {
    if (text.substr(at).starts_with("//")) return std::min(text.find('\n', at), text.size());
    if (!text.substr(at).starts_with("/*")) return at;
    std::size_t end = text.find("*/", at + 2);
    return end == std::string_view::npos ? text.size() : end + 2;
}

/// The position after the closing quote of a string that begins at `at`.
std::size_t end_of_string(std::string_view text, std::size_t at) {
    for (std::size_t i = at + 1; i < text.size(); ++i) {
        if (text[i] == '\\') ++i;
        else if (text[i] == '"') return i + 1;
    }
    return text.size();
}

}  // namespace

std::string without_comments(std::string_view text) {
    std::string out(text);
    if (text.starts_with("\xef\xbb\xbf")) blank(out, 0, 3);
    constexpr std::size_t nowhere = std::string::npos;
    std::size_t comma = nowhere;  // a comma that nothing but white space and comments follows so far
    char before = 0;              // the last character that is neither white space nor part of a comment
    for (std::size_t i = 0; i < out.size();) {
        if (std::size_t end = end_of_comment(text, i); end != i) {
            blank(out, i, end);
            i = end;
        } else if (out[i] == '"') {
            comma = nowhere;
            before = '"';
            i = end_of_string(text, i);
        } else {
            bool closes = out[i] == '}' || out[i] == ']';
            if (closes && comma != nowhere) out[comma] = ' ';
            if (!is_white(out[i])) {
                // Only a comma after a value is a trailing one: "[,]" stays invalid.
                comma = out[i] == ',' && before != 0 && before != ',' && before != '[' && before != '{' && before != ':'
                            ? i
                            : nowhere;
                before = out[i];
            }
            ++i;
        }
    }
    return out;
}

}  // namespace config

config_error::~config_error() = default;

json::value parse_jsonc(std::string_view text, const std::string& source) {
    std::string plain = config::without_comments(text);
    json::document document;
    if (const json::value* v = document.read(plain)) return *v;
    std::string_view before = std::string_view(plain).substr(0, document.error().offset);
    auto line = 1 + std::count(before.begin(), before.end(), '\n');
    std::size_t begin = before.rfind('\n');
    std::size_t column = before.size() - (begin == std::string_view::npos ? 0 : begin + 1) + 1;
    throw config_error(source + ":" + std::to_string(line) + ":" + std::to_string(column) +
                       ": invalid JSON: " + document.error().what);
}

}  // namespace keel
