#include "protocol/trace_context.hpp"

#include "json/ascii.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace keel::inline KEEL_ABI::protocol {

namespace {

constexpr std::size_t max_tracestate = 512;
constexpr std::size_t max_tracestate_entries = 32;
constexpr std::size_t max_tracestate_word = 256;
constexpr std::size_t max_baggage = 8192;
constexpr std::size_t max_baggage_entries = 180;

using json::is_digit;

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_lower_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

bool all_lower_hex(std::string_view text) { return std::ranges::all_of(text, is_lower_hex); }
bool all_zero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// Returns the text before the separator and removes both from `rest`.
std::string_view cut(std::string_view& rest, char separator) {
    const std::size_t end = std::min(rest.find(separator), rest.size());
    const std::string_view head = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return head;
}

bool is_state_key(std::string_view key) {
    if (key.empty() || key.size() > max_tracestate_word || !(is_lower(key[0]) || is_digit(key[0]))) return false;
    return std::ranges::all_of(key, [](char c) {
        return is_lower(c) || is_digit(c) || std::string_view("_-*/@").find(c) != std::string_view::npos;
    });
}

bool is_state_value(std::string_view value) {
    if (value.empty() || value.size() > max_tracestate_word || value.back() == ' ') return false;
    return std::ranges::all_of(value, [](char c) { return c >= 0x20 && c <= 0x7e && c != ',' && c != '='; });
}

/// An HTTP token (RFC 9110).
bool is_header_name(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return c > 0x20 && c < 0x7f && std::string_view("\"(),/:;<=>?@[\\]{}").find(c) == std::string_view::npos;
    });
}

bool is_baggage_value(std::string_view text) {
    return std::ranges::all_of(
        text, [](char c) { return c > 0x20 && c < 0x7f && c != '"' && c != ',' && c != ';' && c != '\\'; });
}

/// `key = value`; a property may also be only a key.
bool is_baggage_pair(std::string_view text, bool may_lack_value) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) return may_lack_value && is_header_name(trimmed(text));
    return is_header_name(trimmed(text.substr(0, equals))) && is_baggage_value(trimmed(text.substr(equals + 1)));
}

}  // namespace

bool is_traceparent(std::string_view text) noexcept {
    constexpr std::size_t length = 55;  // 2 + 1 + 32 + 1 + 16 + 1 + 2
    if (text.size() < length || text.size() > max_tracestate) return false;
    const std::string_view version = text.substr(0, 2);
    const std::string_view trace_id = text.substr(3, 32);
    const std::string_view parent_id = text.substr(36, 16);
    if (text[2] != '-' || text[35] != '-' || text[52] != '-') return false;
    if (!all_lower_hex(version) || !all_lower_hex(trace_id) || !all_lower_hex(parent_id) ||
        !all_lower_hex(text.substr(53, 2)))
        return false;
    if (version == "ff" || all_zero(trace_id) || all_zero(parent_id)) return false;
    if (text.size() == length) return true;
    // Later versions may add fields after one more dash. They are checked only for printable characters.
    return version != "00" && text[length] == '-' &&
           std::ranges::all_of(text.substr(length), [](char c) { return c > 0x20 && c < 0x7f; });
}

bool is_tracestate(std::string_view text) {
    if (text.empty() || text.size() > max_tracestate) return false;
    std::vector<std::string_view> keys;
    while (!text.empty()) {
        std::string_view value = trimmed(cut(text, ','));
        if (value.empty()) continue;  // empty entries are allowed
        const bool has_value = value.find('=') != std::string_view::npos;
        const std::string_view key = cut(value, '=');
        if (!has_value || !is_state_key(key) || !is_state_value(value)) return false;
        if (std::ranges::find(keys, key) != keys.end()) return false;
        keys.push_back(key);
    }
    return !keys.empty() && keys.size() <= max_tracestate_entries;
}

bool is_baggage(std::string_view text) noexcept {
    if (text.empty() || text.size() > max_baggage) return false;
    if (text.back() == ',') return false;  // cut() would miss the empty entry after it
    std::size_t entries = 0;
    while (!text.empty()) {
        std::string_view entry = cut(text, ',');
        if (++entries > max_baggage_entries || entry.ends_with(';')) return false;
        if (!is_baggage_pair(cut(entry, ';'), false)) return false;
        while (!entry.empty()) {
            if (!is_baggage_pair(cut(entry, ';'), true)) return false;
        }
    }
    return true;
}

trace_context read_trace_context(const json::value& meta) {
    const auto text_of = [&](std::string_view name) { return meta[name].if_string().value_or(""); };
    trace_context trace;
    if (const std::string_view text = text_of("traceparent"); is_traceparent(text)) {
        trace.traceparent = text;
        if (const std::string_view state = text_of("tracestate"); is_tracestate(state)) trace.tracestate = state;
    }
    if (const std::string_view text = text_of("baggage"); is_baggage(text)) trace.baggage = text;
    return trace;
}

}  // namespace keel::protocol
