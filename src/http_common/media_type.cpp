#include "http_common/media_type.hpp"

#include "http_common/tokens.hpp"

#include <algorithm>

namespace keel::inline KEEL_ABI::http {

namespace {

/// Removes and returns the text before the next separator outside quotes.
std::string_view cut(std::string_view& rest, char separator) noexcept {
    bool quoted = false;
    std::size_t i = 0;
    for (; i != rest.size(); ++i) {
        if (quoted && rest[i] == '\\' && i + 1 != rest.size()) ++i;
        else if (rest[i] == '"') quoted = !quoted;
        else if (!quoted && rest[i] == separator) break;
    }
    const std::string_view part = rest.substr(0, i);
    rest.remove_prefix(std::min(i + 1, rest.size()));
    return trim(part);
}

struct parameter {
    std::string_view name;
    std::string_view value;  // without quotes; escapes are not decoded
};

/// Returns false if the parameter is invalid.
bool read_parameter(std::string_view text, parameter& out) noexcept {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) return false;
    out = {text.substr(0, equals), text.substr(equals + 1)};
    if (out.value.size() >= 2 && out.value.front() == '"' && out.value.back() == '"') {
        out.value = out.value.substr(1, out.value.size() - 2);
        return is_token(out.name);
    }
    return is_token(out.name) && is_token(out.value);
}

/// "0", "0.000", "1", "0.8". Returns false if the weight is invalid.
bool read_weight(std::string_view text, bool& zero) noexcept {
    if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return false;
    if (text.size() > 1 && text[1] != '.') return false;
    for (char c : text.substr(std::min<std::size_t>(2, text.size()))) {
        if (c < '0' || c > (text[0] == '1' ? '0' : '9')) return false;
    }
    zero = text.find_first_not_of("0.") == std::string_view::npos;
    return true;
}

/// Whether one type is accepted: the most specific entry decides; of equal ones, any that accepts it.
struct opinion {
    int specific = 0;
    bool wanted = false;

    void hear(int how_specific, bool wants) noexcept {
        if (how_specific < specific) return;
        wanted = wants || (how_specific == specific && wanted);
        specific = how_specific;
    }
};

void hear_entry(std::string_view entry, opinion& json, opinion& events) noexcept {
    const std::string_view type = cut(entry, ';');
    bool zero = false;
    while (!entry.empty()) {
        parameter p;
        const std::string_view text = cut(entry, ';');
        if (text.empty()) continue;
        if (!read_parameter(text, p)) return;
        if (same_ignoring_case(p.name, "q") && !read_weight(p.value, zero)) return;
    }
    if (same_ignoring_case(type, "application/json")) json.hear(3, !zero);
    else if (same_ignoring_case(type, "text/event-stream")) events.hear(3, !zero);
    else if (same_ignoring_case(type, "application/*")) json.hear(2, !zero);
    else if (same_ignoring_case(type, "text/*")) events.hear(2, !zero);
    else if (type == "*/*") {
        json.hear(1, !zero);
        events.hear(1, !zero);
    }
}

}  // namespace

accepted_types read_accept(std::span<const header> headers) {
    accepted_types out;
    opinion json;
    opinion events;
    for (const header& each : headers) {
        if (!same_ignoring_case(each.name, "accept")) continue;
        out.said = true;
        if (each.value == "application/json, text/event-stream") {  // the usual value
            json.hear(3, true);
            events.hear(3, true);
            continue;
        }
        std::string_view rest = each.value;
        while (!rest.empty()) hear_entry(cut(rest, ','), json, events);
    }
    out.json = json.wanted;
    out.event_stream = events.wanted;
    return out;
}

bool is_json_type(std::string_view content_type) noexcept {
    if (content_type == "application/json") return true;
    if (!same_ignoring_case(cut(content_type, ';'), "application/json")) return false;
    while (!content_type.empty()) {
        parameter p;
        const std::string_view text = cut(content_type, ';');
        if (text.empty()) continue;
        if (!read_parameter(text, p)) return false;
        if (same_ignoring_case(p.name, "charset") && !same_ignoring_case(p.value, "utf-8")) return false;
    }
    return true;
}

}  // namespace keel::http
