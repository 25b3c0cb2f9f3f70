#include "protocol/uri_template.hpp"

#include "json/utf8.hpp"

#include <keel/json.hpp>

#include <algorithm>
#include <stdexcept>

namespace keel::inline KEEL_ABI::protocol {

namespace {

constexpr std::size_t max_prefix = 9999;

bool is_name_character(char c) { return is_unreserved(c) && c != '-' && c != '.' && c != '~'; }

/// Printable ASCII that is not allowed in literals (RFC 6570, 2.1). The apostrophe is allowed: it is valid in URIs, and
/// its omission is an erratum of the RFC.
bool is_forbidden(char c) { return std::string_view(" \"<>\\^`|").find(c) != std::string_view::npos; }

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

void append_value(std::string& out, std::string_view text, bool allows_reserved) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (is_unreserved(text[i]) || (allows_reserved && is_reserved(text[i]))) {
            out += text[i];
        } else if (allows_reserved && escaped_byte(text, i) >= 0) {
            out.append(text, i, 3);
            i += 2;
        } else {
            append_escape(out, text[i]);
        }
    }
}

/// Expands one expression.
class expansion {
public:
    expansion(std::string& out, const template_operator& op) : out_(out), op_(op) {}

    void write(std::string_view name, const template_variable& v, const std::string& text) {
        separate();
        write_named(name, v.prefix == 0 ? std::string_view(text) : first_characters(text, v.prefix));
    }

    void write(std::string_view name, const template_variable& v, const std::vector<std::string>& list) {
        if (v.explode) {
            for (const std::string& item : list) {
                separate();
                write_named(name, item);
            }
        } else if (!list.empty()) {
            separate();
            if (op_.named) out_.append(name) += '=';
            for (const std::string& item : list) {
                if (&item != &list.front()) out_ += ',';
                append_value(out_, item, op_.allows_reserved);
            }
        }
    }

    void write(std::string_view name, const template_variable& v,
               const std::vector<std::pair<std::string, std::string>>& table) {
        if (!v.explode && !table.empty()) {
            separate();
            if (op_.named) out_.append(name) += '=';
        }
        for (const auto& [key, value] : table) {
            if (v.explode) {
                separate();
            } else if (&key != &table.front().first) {
                out_ += ',';
            }
            append_value(out_, key, op_.allows_reserved);
            if (!v.explode) {
                out_ += ',';
            } else if (!value.empty() || !op_.named || op_.equals_if_empty) {
                out_ += '=';
            }
            append_value(out_, value, op_.allows_reserved);
        }
    }

private:
    void separate() {
        const char sign = began_ ? op_.separator : op_.first;
        if (sign != 0) out_ += sign;
        began_ = true;
    }

    void write_named(std::string_view name, std::string_view value) {
        if (op_.named) {
            out_ += name;
            if (!value.empty() || op_.equals_if_empty) out_ += '=';
        }
        append_value(out_, value, op_.allows_reserved);
    }

    std::string& out_;
    const template_operator& op_;
    bool began_ = false;
};

/// Truncated and printable.
std::string shown(std::string_view text) {
    constexpr std::size_t longest = 80;
    std::string out;
    for (char c : text.substr(0, longest)) out += is_control(c) ? '?' : c;
    while (!json::is_utf8(out)) out.pop_back();
    if (text.size() > longest) out += "...";
    return out;
}

}  // namespace

uri_template::uri_template(std::string text) : text_(std::move(text)), parts_(parse()), pattern_(variables_, parts_) {}

void uri_template::fail(std::string_view what, std::size_t offset) const {
    throw std::invalid_argument("keel: URI template \"" + shown(text_) + "\": " + std::string(what) + " at " +
                                std::to_string(offset));
}

std::vector<template_part> uri_template::parse() {
    if (text_.size() > max_template_size) fail("too long", max_template_size);
    std::vector<template_part> parts;
    for (std::size_t at = 0; at < text_.size();) {
        parts.push_back(text_[at] == '{' ? parse_expression(at) : parse_literal(at));
    }
    return parts;
}

template_part uri_template::parse_literal(std::size_t& at) {
    template_part part;
    for (; at < text_.size() && text_[at] != '{'; ++at) {
        const char c = text_[at];
        if (c == '}') fail("unmatched closing brace", at);
        if (is_control(c) || is_forbidden(c)) fail("character that is invalid in a URI", at);
        if (c == '%' && escaped_byte(text_, at) < 0) fail("incomplete percent escape", at);
        if (static_cast<unsigned char>(c) < 0x80) {
            part.literal += c;
            continue;
        }
        const auto run = json::detail::skip_non_ascii(text_.data() + at, text_.data() + text_.size());
        const auto end = static_cast<std::size_t>(run.end - text_.data());
        if (!run.valid) fail("invalid UTF-8", end);
        for (; at != end; ++at) append_escape(part.literal, text_[at]);
        --at;
    }
    return part;
}

template_part uri_template::parse_expression(std::size_t& at) {
    const std::size_t open = at++;
    const std::size_t close = text_.find('}', open);
    if (close == std::string::npos) fail("unclosed expression", open);

    template_part part;
    part.op = find_template_operator(0);
    if (std::string_view("=,!@|").find(text_[at]) != std::string_view::npos) fail("reserved operator", at);
    if (const template_operator* op = find_template_operator(text_[at]); op && op->sign != 0) {
        part.op = op;
        ++at;
    }
    for (;; ++at) {
        template_variable v;
        const std::size_t end = parse_name(at);
        if (end == at) fail("missing variable name", at);
        v.index = index_of(std::string_view(text_).substr(at, end - at));
        at = end;
        if (text_[at] == '*') {
            v.explode = true;
            ++at;
        } else if (text_[at] == ':') {
            const std::size_t colon = at++;
            while (text_[at] >= '0' && text_[at] <= '9' && v.prefix <= max_prefix) {
                v.prefix = v.prefix * 10 + static_cast<std::size_t>(text_[at++] - '0');
                if (v.prefix == 0) break;  // no leading zeros
            }
            if (v.prefix == 0 || v.prefix > max_prefix)
                fail("invalid prefix (expected a number from 1 to 9999)", colon);
        }
        part.variables.push_back(v);
        if (text_[at] == '}') break;
        if (text_[at] != ',') fail("unexpected character in an expression", at);
    }
    ++at;
    return part;
}

/// The end of the name that starts at `at`: name characters and escapes, with single dots between them.
std::size_t uri_template::parse_name(std::size_t at) const {
    const auto length_at = [&](std::size_t i) -> std::size_t {
        return is_name_character(text_[i]) ? 1 : escaped_byte(text_, i) >= 0 ? 3 : 0;
    };
    std::size_t end = at;
    while (const std::size_t length = length_at(end)) {
        end += length;
        if (text_[end] == '.' && length_at(end + 1) != 0) ++end;
    }
    return end;
}

std::size_t uri_template::index_of(std::string_view name) {
    const auto found = std::ranges::find(variables_, name);
    if (found != variables_.end()) return static_cast<std::size_t>(found - variables_.begin());
    variables_.emplace_back(name);
    return variables_.size() - 1;
}

std::string uri_template::expand(const template_values& values) const {
    std::string out;
    for (const template_part& p : parts_) {
        if (p.variables.empty()) {
            out += p.literal;
            continue;
        }
        expansion expression(out, *p.op);
        for (const template_variable& v : p.variables) {
            const std::string& name = variables_[v.index];
            const auto found = values.find(name);
            if (found == values.end()) continue;
            if (v.prefix != 0 && !std::holds_alternative<std::string>(found->second)) {
                throw std::invalid_argument("keel: URI template \"" + shown(text_) + "\": variable \"" + shown(name) +
                                            "\" has a prefix, but its value is not a string");
            }
            std::visit([&](const auto& value) { expression.write(name, v, value); }, found->second);
        }
    }
    return out;
}

std::optional<matched_values> uri_template::match(std::string_view uri) const {
    auto found = pattern_.match(uri);
    if (!found) return std::nullopt;
    matched_values values;
    for (std::size_t v = 0; v < found->size(); ++v) {
        if (auto& value = (*found)[v]) values.emplace(variables_[v], *std::move(value));
    }
    return values;
}

}  // namespace keel::protocol
