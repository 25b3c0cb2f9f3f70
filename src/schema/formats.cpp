#include "schema/formats.hpp"

#include "json/ascii.hpp"
#include "schema/pattern.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

namespace keel::inline KEEL_ABI::validation {

namespace {

using json::is_digit;
using json::is_letter;

bool is_hex(char c) noexcept { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_any_of(char c, std::string_view set) noexcept { return c != '\0' && set.find(c) != set.npos; }

/// The remaining text.
struct rest {
    std::string_view text;

    bool empty() const noexcept { return text.empty(); }
    char front() const noexcept { return text.empty() ? '\0' : text.front(); }
    bool take(char c) noexcept {
        if (text.empty() || text.front() != c) return false;
        text.remove_prefix(1);
        return true;
    }
    /// Exactly that many decimal digits.
    std::optional<int> number(std::size_t digits) noexcept {
        if (text.size() < digits) return std::nullopt;
        int n = 0;
        for (std::size_t i = 0; i != digits; ++i) {
            if (!is_digit(text[i])) return std::nullopt;
            n = n * 10 + (text[i] - '0');
        }
        text.remove_prefix(digits);
        return n;
    }
    std::size_t skip_digits() noexcept {
        std::size_t n = 0;
        while (n < text.size() && is_digit(text[n])) ++n;
        text.remove_prefix(n);
        return n;
    }
};

// ---- RFC 3339 ----

bool take_date(rest& r) noexcept {
    const auto year = r.number(4);
    if (!year || !r.take('-')) return false;
    const auto month = r.number(2);
    if (!month || !r.take('-')) return false;
    const auto day = r.number(2);
    if (!day || *month < 1 || *month > 12) return false;
    constexpr int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = (*year % 4 == 0 && *year % 100 != 0) || *year % 400 == 0;
    const int last = *month == 2 && leap ? 29 : days[*month - 1];
    return *day >= 1 && *day <= last;
}

bool take_time(rest& r) noexcept {
    const auto hour = r.number(2);
    if (!hour || !r.take(':')) return false;
    const auto minute = r.number(2);
    if (!minute || !r.take(':')) return false;
    const auto second = r.number(2);
    if (!second || *hour > 23 || *minute > 59 || *second > 60) return false;
    if (r.take('.') && r.skip_digits() == 0) return false;
    int offset = 0;
    if (!r.take('Z') && !r.take('z')) {
        const bool west = r.front() == '-';
        if (!west && r.front() != '+') return false;
        r.text.remove_prefix(1);
        const auto hours = r.number(2);
        if (!hours || !r.take(':')) return false;
        const auto minutes = r.number(2);
        if (!minutes || *hours > 23 || *minutes > 59) return false;
        offset = (*hours * 60 + *minutes) * (west ? -1 : 1);
    }
    // A leap second is the last second of a UTC day.
    constexpr int day = 24 * 60;
    return *second != 60 || (*hour * 60 + *minute - offset + 2 * day) % day == day - 1;
}

bool date(std::string_view text) {
    rest r{text};
    return take_date(r) && r.empty();
}

bool time(std::string_view text) {
    rest r{text};
    return take_time(r) && r.empty();
}

bool date_time(std::string_view text) {
    rest r{text};
    return take_date(r) && (r.take('T') || r.take('t')) && take_time(r) && r.empty();
}

/// Numbers, each followed by a unit. The units must be in order, and none between two may be omitted.
bool take_units(rest& r, std::string_view units) noexcept {
    std::size_t next = units.npos;
    while (is_digit(r.front())) {
        r.skip_digits();
        const auto unit = r.empty() ? units.npos : units.find(r.front());
        if (unit == units.npos || (next != units.npos && unit != next)) return false;
        next = unit + 1;
        r.text.remove_prefix(1);
    }
    return next != units.npos;
}

bool duration(std::string_view text) {
    rest r{text};
    if (!r.take('P') || r.empty()) return false;
    if (r.text.ends_with('W')) {
        r.text.remove_suffix(1);
        return r.skip_digits() != 0 && r.empty();
    }
    if (r.front() != 'T' && !take_units(r, "YMD")) return false;
    if (r.empty()) return true;
    return r.take('T') && take_units(r, "HMS") && r.empty();
}

// ---- addresses ----

bool ipv4(std::string_view text) {
    rest r{text};
    for (int i = 0; i != 4; ++i) {
        if (i != 0 && !r.take('.')) return false;
        std::size_t digits = 0;
        int n = 0;
        for (; digits < r.text.size() && is_digit(r.text[digits]); ++digits) {
            n = n * 10 + (r.text[digits] - '0');
            if (n > 255) return false;
        }
        if (digits == 0 || (digits > 1 && r.front() == '0')) return false;
        r.text.remove_prefix(digits);
    }
    return r.empty();
}

bool ipv6(std::string_view text) {
    int groups = 0;
    bool gap = false;
    rest r{text};
    if (r.text.starts_with("::")) {
        gap = true;
        r.text.remove_prefix(2);
        if (r.empty()) return true;
    }
    for (;;) {
        std::size_t digits = 0;
        while (digits < r.text.size() && is_hex(r.text[digits])) ++digits;
        if (digits < r.text.size() && r.text[digits] == '.') {
            if (!ipv4(r.text)) return false;
            groups += 2;
            break;
        }
        if (digits == 0 || digits > 4) return false;
        r.text.remove_prefix(digits);
        ++groups;
        if (r.empty()) break;
        if (!r.take(':')) return false;
        if (r.take(':')) {
            if (gap) return false;
            gap = true;
            if (r.empty()) break;
        }
    }
    return gap ? groups < 8 : groups == 8;
}

bool hostname(std::string_view text) {
    if (text.empty() || text.size() > 253) return false;
    for (;;) {
        const auto end = text.find('.');
        const std::string_view label = text.substr(0, end);
        if (label.empty() || label.size() > 63 || label.front() == '-' || label.back() == '-') return false;
        if (!std::ranges::all_of(label, [](char c) { return is_letter(c) || is_digit(c) || c == '-'; })) return false;
        if (end == text.npos) return true;
        text.remove_prefix(end + 1);
    }
}

bool local_part(std::string_view text) noexcept {
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
        text = text.substr(1, text.size() - 2);
        for (std::size_t i = 0; i != text.size(); ++i) {
            if (text[i] == '\\' && ++i == text.size()) return false;
            if (text[i] < ' ' || text[i] > '~') return false;
            if (text[i] == '"' && (i == 0 || text[i - 1] != '\\')) return false;
        }
        return true;
    }
    if (text.empty() || text.front() == '.' || text.back() == '.') return false;
    for (std::size_t i = 0; i != text.size(); ++i) {
        if (text[i] == '.' && text[i - 1] == '.') return false;
        if (!is_letter(text[i]) && !is_digit(text[i]) && !is_any_of(text[i], ".!#$%&'*+-/=?^_`{|}~")) return false;
    }
    return true;
}

bool email(std::string_view text) {
    const auto at = text.rfind('@');
    if (at == text.npos || !local_part(text.substr(0, at))) return false;
    std::string_view domain = text.substr(at + 1);
    if (domain.starts_with('[') && domain.ends_with(']')) {
        domain = domain.substr(1, domain.size() - 2);
        return domain.starts_with("IPv6:") ? ipv6(domain.substr(5)) : ipv4(domain);
    }
    return hostname(domain);
}

// ---- RFC 3986 ----

constexpr std::string_view sub_delimiters = "!$&'()*+,;=";

bool only(std::string_view text, std::string_view also) noexcept {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '%') {
            if (text.size() - i < 3 || !is_hex(text[i + 1]) || !is_hex(text[i + 2])) return false;
            i += 2;
            continue;
        }
        if (!is_letter(c) && !is_digit(c) && !is_any_of(c, "-._~") && !is_any_of(c, sub_delimiters) &&
            !is_any_of(c, also))
            return false;
    }
    return true;
}

bool ip_future(std::string_view text) noexcept {
    if (text.empty() || (text[0] != 'v' && text[0] != 'V')) return false;
    const auto dot = text.find('.');
    if (dot == text.npos || dot == 1 || dot + 1 == text.size()) return false;
    return std::ranges::all_of(text.substr(1, dot - 1), is_hex) && text.find('%') == text.npos &&
           only(text.substr(dot + 1), ":");
}

bool authority(std::string_view text) {
    if (const auto at = text.find('@'); at != text.npos) {
        if (!only(text.substr(0, at), ":")) return false;
        text.remove_prefix(at + 1);
    }
    if (text.starts_with('[')) {
        const auto end = text.find(']');
        if (end == text.npos) return false;
        const std::string_view literal = text.substr(1, end - 1);
        if (!ipv6(literal) && !ip_future(literal)) return false;
        text.remove_prefix(end + 1);
    } else {
        const auto end = std::min(text.find(':'), text.size());
        if (!only(text.substr(0, end), {})) return false;
        text.remove_prefix(end);
    }
    if (text.empty()) return true;
    return text.front() == ':' && std::ranges::all_of(text.substr(1), is_digit);
}

/// A URI reference, or a full URI if a scheme is required.
bool reference(std::string_view text, bool needs_scheme) {
    if (const auto at = text.find('#'); at != text.npos) {
        if (!only(text.substr(at + 1), ":@/?")) return false;
        text = text.substr(0, at);
    }
    if (const auto at = text.find('?'); at != text.npos) {
        if (!only(text.substr(at + 1), ":@/?")) return false;
        text = text.substr(0, at);
    }
    // A colon in the first segment ends the scheme.
    const auto colon = text.find(':');
    const bool scheme = colon < text.find('/');
    if (scheme) {
        const std::string_view name = text.substr(0, colon);
        const auto good = [](char c) { return is_letter(c) || is_digit(c) || is_any_of(c, "+-."); };
        if (name.empty() || !is_letter(name.front()) || !std::ranges::all_of(name, good)) return false;
        text.remove_prefix(colon + 1);
    } else if (needs_scheme) {
        return false;
    }
    if (text.starts_with("//")) {
        text.remove_prefix(2);
        const auto end = std::min(text.find('/'), text.size());
        if (!authority(text.substr(0, end))) return false;
        text.remove_prefix(end);
    }
    return only(text, ":@/");
}

bool uri(std::string_view text) { return reference(text, true); }
bool uri_reference(std::string_view text) { return reference(text, false); }

// ---- other formats ----

bool uuid(std::string_view text) {
    if (text.size() != 36) return false;
    for (std::size_t i = 0; i != text.size(); ++i) {
        const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
        if (hyphen ? text[i] != '-' : !is_hex(text[i])) return false;
    }
    return true;
}

bool json_pointer(std::string_view text) {
    if (!text.empty() && text.front() != '/') return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '~' && (i + 1 == text.size() || (text[i + 1] != '0' && text[i + 1] != '1'))) return false;
    }
    return true;
}

bool relative_json_pointer(std::string_view text) {
    rest r{text};
    const bool zero = r.front() == '0';
    const std::size_t digits = r.skip_digits();
    if (digits == 0 || (zero && digits != 1)) return false;
    return r.text == "#" || json_pointer(r.text);
}

constexpr std::array<std::pair<std::string_view, format_check>, 14> formats{{
    {"date-time", date_time},
    {"date", date},
    {"time", time},
    {"duration", duration},
    {"email", email},
    {"hostname", hostname},
    {"ipv4", ipv4},
    {"ipv6", ipv6},
    {"uri", uri},
    {"uri-reference", uri_reference},
    {"uuid", uuid},
    {"json-pointer", json_pointer},
    {"relative-json-pointer", relative_json_pointer},
    {"regex", is_regular_expression},
}};

}  // namespace

format_check find_format(std::string_view name) noexcept {
    for (const auto& [known, check] : formats) {
        if (known == name) return check;
    }
    return nullptr;
}

}  // namespace keel::validation
