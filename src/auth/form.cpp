#include "auth/form.hpp"

#include "protocol/uri.hpp"

#include <algorithm>

namespace keel::inline KEEL_ABI::auth {

void append_form_encoded(std::string& out, std::string_view text) {
    for (char c : text) {
        if ((protocol::is_unreserved(c) && c != '~') || c == '*') out += c;
        else if (c == ' ') out += '+';
        else protocol::append_escape(out, c);
    }
}

std::string form_encode(std::string_view text) {
    std::string out;
    append_form_encoded(out, text);
    return out;
}

std::optional<std::string> form_decode(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        if (c == '+') c = ' ';
        if (c == '%') {
            const int byte = protocol::escaped_byte(text, i);
            if (byte < 0) return std::nullopt;
            c = static_cast<char>(byte);
            i += 2;
        }
        if (c == '\0') return std::nullopt;
        out += c;
    }
    return out;
}

std::optional<form> form::parse(std::string_view text) {
    form out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('&'), text.size());
        const std::string_view field = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (field.empty()) continue;
        const std::size_t equals = std::min(field.find('='), field.size());
        auto name = form_decode(field.substr(0, equals));
        auto value = form_decode(field.substr(std::min(equals + 1, field.size())));
        if (!name || !value || out.fields_.size() == max_fields) return std::nullopt;
        out.fields_.emplace_back(std::move(*name), std::move(*value));
    }
    return out;
}

form& form::add(std::string_view name, std::string_view value) {
    fields_.emplace_back(name, value);
    return *this;
}

std::optional<std::string_view> form::field(std::string_view name) const noexcept {
    std::optional<std::string_view> found;
    for (const auto& [each, value] : fields_) {
        if (each != name) continue;
        if (found) return std::nullopt;
        found = value;
    }
    return found;
}

bool form::repeats(std::string_view name) const noexcept {
    return std::count_if(fields_.begin(), fields_.end(), [&](const auto& each) { return each.first == name; }) > 1;
}

std::string form::text() const {
    std::string out;
    for (const auto& [name, value] : fields_) {
        if (!out.empty()) out += '&';
        append_form_encoded(out, name);
        out += '=';
        append_form_encoded(out, value);
    }
    return out;
}

std::string with_query(std::string_view url, const form& fields) {
    const std::string_view whole = url.substr(0, url.find('#'));
    std::string out(whole);
    if (!fields.fields().empty()) {
        const std::size_t query = whole.find('?');
        if (query == std::string_view::npos) out += '?';
        else if (query + 1 != whole.size() && !whole.ends_with('&')) out += '&';
        out += fields.text();
    }
    out += url.substr(whole.size());
    return out;
}

}  // namespace keel::auth
