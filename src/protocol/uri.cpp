#include "protocol/uri.hpp"

#include "json/ascii.hpp"

#include <algorithm>

namespace keel::inline KEEL_ABI::protocol {

namespace {

constexpr std::string_view sub_delimiters = "!$&'()*+,;=";

using json::is_digit;
using json::is_letter;

/// Unreserved characters, escapes, sub-delimiters, and `more`.
bool consists_of(std::string_view text, std::string_view more) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '%') {
            if (escaped_byte(text, i) < 0) return false;
            i += 2;
        } else if (!is_unreserved(c) && sub_delimiters.find(c) == std::string_view::npos &&
                   more.find(c) == std::string_view::npos) {
            return false;
        }
    }
    return true;
}

bool is_ipv4(std::string_view text) {
    for (int part = 0; part < 4; ++part) {
        const std::size_t end = part < 3 ? text.find('.') : text.size();
        if (end == std::string_view::npos) return false;
        const std::string_view digits = text.substr(0, end);
        if (digits.empty() || digits.size() > 3 || !std::ranges::all_of(digits, is_digit)) return false;
        if (digits.size() > 1 && digits[0] == '0') return false;
        if (digits.size() == 3 && digits > "255") return false;
        text.remove_prefix(part < 3 ? end + 1 : end);
    }
    return true;
}

bool is_ipv6(std::string_view text) {
    int groups = 0;
    bool gap = false;  // "::" was seen; it replaces at least one group
    if (text.starts_with("::")) {
        gap = true;
        text.remove_prefix(2);
    }
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(':'), text.size());
        const std::string_view group = text.substr(0, end);
        if (end == text.size() && group.find('.') != std::string_view::npos) {
            groups += 2;
            if (!is_ipv4(group)) return false;
            break;
        }
        if (group.empty() || group.size() > 4 || !std::ranges::all_of(group, [](char c) { return hex_digit(c) >= 0; }))
            return false;
        if (++groups > 8) return false;
        text.remove_prefix(end);
        if (text.starts_with("::")) {
            if (gap) return false;
            gap = true;
            text.remove_prefix(2);
        } else if (text.starts_with(':')) {
            text.remove_prefix(1);
            if (text.empty()) return false;
        }
    }
    return gap ? groups < 8 : groups == 8;
}

/// IPvFuture: "v", hexadecimal digits, ".", then unreserved characters and delimiters.
bool is_future_address(std::string_view text) {
    if (text.empty() || (text[0] != 'v' && text[0] != 'V')) return false;
    const std::size_t dot = text.find('.');
    if (dot == std::string_view::npos || dot < 2 || dot + 1 == text.size()) return false;
    return std::ranges::all_of(text.substr(1, dot - 1), [](char c) { return hex_digit(c) >= 0; }) &&
           text.find('%') == std::string_view::npos && consists_of(text.substr(dot + 1), ":");
}

bool is_authority(std::string_view text) {
    if (const std::size_t at = text.find('@'); at != std::string_view::npos) {
        if (!consists_of(text.substr(0, at), ":")) return false;
        text.remove_prefix(at + 1);
    }
    std::string_view port;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos) return false;
        const std::string_view address = text.substr(1, end - 1);
        if (!is_ipv6(address) && !is_future_address(address)) return false;
        port = text.substr(end + 1);
    } else {
        const std::size_t colon = std::min(text.find(':'), text.size());
        if (!consists_of(text.substr(0, colon), "")) return false;
        port = text.substr(colon);
    }
    return port.empty() || (port[0] == ':' && std::ranges::all_of(port.substr(1), is_digit));
}

bool leads_out(std::string_view path) {
    if (path.find('\0') != std::string_view::npos) return true;
    if (path.starts_with('/') || path.starts_with('\\')) return true;
    if (path.size() >= 2 && is_letter(path[0]) && path[1] == ':') return true;
    for (;;) {
        const std::size_t end = path.find_first_of("/\\");
        const std::string_view segment = path.substr(0, end);
        if (segment == "." || segment == "..") return true;
        if (end == std::string_view::npos) return false;
        path.remove_prefix(end + 1);
    }
}

}  // namespace

bool is_valid_uri(std::string_view text) noexcept {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos || colon == 0 || !is_letter(text[0])) return false;
    if (!std::ranges::all_of(text.substr(0, colon),
                             [](char c) { return is_letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.'; }))
        return false;
    text.remove_prefix(colon + 1);

    if (const std::size_t hash = text.find('#'); hash != std::string_view::npos) {
        if (!consists_of(text.substr(hash + 1), ":@/?")) return false;
        text = text.substr(0, hash);
    }
    if (const std::size_t mark = text.find('?'); mark != std::string_view::npos) {
        if (!consists_of(text.substr(mark + 1), ":@/?")) return false;
        text = text.substr(0, mark);
    }
    if (text.starts_with("//")) {
        text.remove_prefix(2);
        const std::size_t slash = std::min(text.find('/'), text.size());
        if (!is_authority(text.substr(0, slash))) return false;
        text.remove_prefix(slash);
    }
    return consists_of(text, ":@/");
}

bool is_path_traversal(std::string_view value) { return leads_out(value) || leads_out(percent_decode(value)); }

std::string percent_decode(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const int byte = escaped_byte(text, i);
        out += byte < 0 ? text[i] : static_cast<char>(byte);
        if (byte >= 0) i += 2;
    }
    return out;
}

void append_escape(std::string& out, char byte) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    const auto b = static_cast<unsigned char>(byte);
    out += '%';
    out += digits[b >> 4];
    out += digits[b & 15];
}

}  // namespace keel::protocol
