#include "printable.hpp"

#include <algorithm>
#include <cstdio>
#include <cwchar>

namespace keel::command {

namespace {

struct character {
    char32_t code = 0;
    std::size_t bytes = 1;
    bool valid = false;
};

// Lenient on purpose: a child's standard error may contain invalid UTF-8.
character first_of(std::string_view text) {
    auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    unsigned lead = byte(0);
    if (lead < 0x80) return {lead, 1, true};
    std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {lead, 1, false};
    char32_t code = lead & (0xffU >> (bytes + 1));
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xc0U) != 0x80) return {lead, 1, false};
        code = code << 6 | (byte(i) & 0x3fU);
    }
    bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
    bool surrogate = code >= 0xd800 && code < 0xe000;
    if (overlong || surrogate || code > 0x10ffff) return {lead, 1, false};
    return {code, bytes, true};
}

bool is_unsafe(char32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0)                                          // control characters
           || c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e)  // text direction
           || (c >= 0x2066 && c <= 0x2069)                                              //
           || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0x200b  // line separators, invisible characters
           || (c >= 0xe0000 && c <= 0xe007f);
}

void append_escape(std::string& out, const character& c) {
    char text[16];
    if (!c.valid || c.code < 0x80) std::snprintf(text, sizeof text, "\\x%02x", static_cast<unsigned>(c.code));
    else std::snprintf(text, sizeof text, "\\u%04x", static_cast<unsigned>(c.code));
    out += text;
}

bool is_space(char32_t c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

}  // namespace

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        character c = first_of(text);
        bool line_end = text.starts_with("\r\n");
        if (line_end) c = {U'\n', 2, true};
        if (line_end || c.code == '\n' || c.code == '\t') out += static_cast<char>(c.code);
        else if (!c.valid || is_unsafe(c.code)) append_escape(out, c);
        else out += text.substr(0, c.bytes);
        text.remove_prefix(c.bytes);
    }
    return out;
}

std::string printable_line(std::string_view text) {
    std::string out;
    bool space = false;
    while (!text.empty()) {
        character c = first_of(text);
        if (c.valid && is_space(c.code)) {
            space = !out.empty();
        } else {
            if (space) out += ' ';
            space = false;
            if (!c.valid || is_unsafe(c.code)) append_escape(out, c);
            else out += text.substr(0, c.bytes);
        }
        text.remove_prefix(c.bytes);
    }
    return out;
}

namespace {

// main() sets a UTF-8 locale. Without one, each character counts as one column.
std::size_t columns_of(char32_t c) {
    if (c < 0x80) return 1;
    int n = ::wcwidth(static_cast<wchar_t>(c));
    return n < 0 ? 1 : static_cast<std::size_t>(n);
}

}  // namespace

std::size_t width_of(std::string_view text) {
    std::size_t columns = 0;
    while (!text.empty()) {
        character c = first_of(text);
        columns += columns_of(c.code);
        text.remove_prefix(c.bytes);
    }
    return columns;
}

std::string cut_to(std::string_view text, std::size_t columns) {
    if (width_of(text) <= columns) return std::string(text);
    if (columns == 0) return {};
    std::size_t used = 0;
    std::size_t at = 0;
    while (at < text.size()) {
        character c = first_of(text.substr(at));
        std::size_t more = columns_of(c.code);
        if (used + more > columns - 1) break;
        used += more;
        at += c.bytes;
    }
    return std::string(text.substr(0, at)) + "…";
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns) {
    std::string out(indent, ' ');
    std::size_t used = indent;
    while (!text.empty()) {
        std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        std::size_t width = width_of(word);
        bool first = used == indent;
        // Leave the last column free: some terminals wrap there.
        if (columns != 0 && !first && used + 1 + width >= columns) {
            out += '\n' + std::string(indent, ' ');
            used = indent;
            first = true;
        }
        if (!first) out += ' ';
        out += word;
        used += width + (first ? 0 : 1);
    }
    return out;
}

}  // namespace keel::command
