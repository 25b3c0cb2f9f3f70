#include "schema/uri.hpp"

#include <cstddef>
#include <optional>

namespace keel::inline KEEL_ABI::validation {

namespace {

struct uri_parts {
    std::optional<std::string_view> scheme, authority, query, fragment;
    std::string_view path;
};

bool is_scheme(std::string_view text) noexcept {
    for (std::size_t i = 0; i != text.size(); ++i) {
        const char c = text[i];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const bool other = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
        if (!letter && (i == 0 || !other)) return false;
    }
    return !text.empty();
}

uri_parts parts_of(std::string_view text) noexcept {
    uri_parts p;
    if (const auto at = text.find('#'); at != text.npos) {
        p.fragment = text.substr(at + 1);
        text = text.substr(0, at);
    }
    if (const auto at = text.find('?'); at != text.npos) {
        p.query = text.substr(at + 1);
        text = text.substr(0, at);
    }
    if (const auto at = text.find(':'); at != text.npos && is_scheme(text.substr(0, at))) {
        p.scheme = text.substr(0, at);
        text = text.substr(at + 1);
    }
    if (text.starts_with("//")) {
        const auto end = text.find('/', 2);
        p.authority = text.substr(2, end == text.npos ? text.npos : end - 2);
        text = end == text.npos ? std::string_view() : text.substr(end);
    }
    p.path = text;
    return p;
}

std::string without_dots(std::string_view path) {
    std::string out;
    const auto drop_last = [&] {
        const auto at = out.rfind('/');
        out.erase(at == out.npos ? 0 : at);
    };
    while (!path.empty()) {
        if (path.starts_with("../")) path.remove_prefix(3);
        else if (path.starts_with("./") || path.starts_with("/./")) path.remove_prefix(2);
        else if (path == "/.") path = "/";
        else if (path.starts_with("/../")) {
            path.remove_prefix(3);
            drop_last();
        } else if (path == "/..") {
            path = "/";
            drop_last();
        } else if (path == "." || path == "..") {
            path = {};
        } else {
            const auto end = path.find('/', 1);
            out += path.substr(0, end);
            path = end == path.npos ? std::string_view() : path.substr(end);
        }
    }
    return out;
}

std::string merged(const uri_parts& base, std::string_view path) {
    if (base.authority && base.path.empty()) return '/' + std::string(path);
    const auto at = base.path.rfind('/');
    return std::string(base.path.substr(0, at == base.path.npos ? 0 : at + 1)) + std::string(path);
}

}  // namespace

std::string resolve_uri(std::string_view base_text, std::string_view reference) {
    const uri_parts base = parts_of(base_text);
    const uri_parts r = parts_of(reference);
    auto scheme = r.scheme;
    auto authority = r.authority;
    auto query = r.query;
    std::string path;
    if (r.scheme || r.authority) {
        // A path without '/' is that of a URN: its dots have no special meaning.
        path = r.scheme && !r.authority && !r.path.starts_with('/') ? std::string(r.path) : without_dots(r.path);
    } else {
        authority = base.authority;
        if (r.path.empty()) {
            path = base.path;
            if (!r.query) query = base.query;
        } else {
            path = without_dots(r.path.starts_with('/') ? std::string(r.path) : merged(base, r.path));
        }
    }
    if (!scheme) scheme = base.scheme;

    std::string out;
    if (scheme) out.append(*scheme) += ':';
    if (authority) out.append("//").append(*authority);
    out += path;
    if (query) (out += '?').append(*query);
    if (r.fragment) (out += '#').append(*r.fragment);
    return out;
}

uri_halves split_fragment(std::string_view uri) noexcept {
    const auto at = uri.find('#');
    if (at == uri.npos) return {uri, {}};
    return {uri.substr(0, at), uri.substr(at + 1)};
}

std::string percent_decoded(std::string_view text) {
    const auto digit = [&](std::size_t i) {
        if (i >= text.size()) return -1;
        const char c = text[i];
        if (c >= '0' && c <= '9') return c - '0';
        if (c >= 'a' && c <= 'f') return c - 'a' + 10;
        if (c >= 'A' && c <= 'F') return c - 'A' + 10;
        return -1;
    };
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && digit(i + 1) >= 0 && digit(i + 2) >= 0) {
            out += static_cast<char>(digit(i + 1) * 16 + digit(i + 2));
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

}  // namespace keel::validation
