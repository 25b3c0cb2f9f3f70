#include "http_client/http_link_headers.hpp"

#include "http_common/tokens.hpp"
#include "protocol/mirrored_headers.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace keel::inline KEEL_ABI::http_client {

namespace {

constexpr std::size_t max_session_id = 4096;

bool same_name(std::string_view a, std::string_view b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return http::lower(x) == http::lower(y); });
}

bool has(const header_list* list, std::string_view name) noexcept {
    return list &&
           std::any_of(list->begin(), list->end(), [&](const auto& each) { return same_name(each.first, name); });
}

/// The headers of the URL and of the call; those of the call take precedence.
void add_others(header_list& to, const request_terms& terms, const header_list* extra) {
    for (const auto& each : terms.own) {
        if (!is_protocol_header(each.first) && !has(extra, each.first)) to.push_back(each);
    }
    if (!extra) return;
    for (const auto& each : *extra) {
        if (!is_protocol_header(each.first) && is_writable_header(each.first, each.second)) to.push_back(each);
    }
}

void add_terms(header_list& to, const request_terms& terms) {
    if (!terms.version.empty()) to.emplace_back("MCP-Protocol-Version", terms.version);
    if (!terms.modern && !terms.session.empty()) to.emplace_back("Mcp-Session-Id", terms.session);
}

}  // namespace

header_list headers_of_message(const request_terms& terms, const message_labels& labels) {
    header_list all;
    all.reserve(6 + terms.own.size() + (labels.extra ? labels.extra->size() : 0));
    all.emplace_back("Accept", "application/json, text/event-stream");
    all.emplace_back("Content-Type", "application/json");
    if (!labels.opens_session) add_terms(all, terms);
    if (terms.modern && !labels.method.empty()) {
        all.emplace_back("Mcp-Method", labels.method);
        if (!labels.name.empty()) all.emplace_back("Mcp-Name", protocol::encode_mirrored(labels.name));
    }
    add_others(all, terms, labels.extra);
    return all;
}

header_list headers_of_stream(const request_terms& terms, std::string_view last_event_id) {
    header_list all;
    all.emplace_back("Accept", "text/event-stream");
    add_terms(all, terms);
    if (!last_event_id.empty()) all.emplace_back("Last-Event-ID", last_event_id);
    add_others(all, terms, nullptr);
    return all;
}

header_list headers_of_delete(const request_terms& terms) {
    header_list all;
    add_terms(all, terms);
    add_others(all, terms, nullptr);
    return all;
}

std::string user_agent(std::string_view client_name, std::string_view client_version) {
    constexpr std::size_t longest = 64;
    auto token = [](std::string_view text) {
        std::string out(text.substr(0, longest));
        std::replace_if(out.begin(), out.end(), [](char c) { return !http::is_token_char(c); }, '-');
        return out;
    };
    std::string out = token(client_name);
    if (!out.empty() && !client_version.empty()) out += "/" + token(client_version);
    return out + (out.empty() ? "" : " ") + "keel/" KEEL_VERSION;
}

void add_default_header(header_list& to, std::string_view name, std::string value) {
    if (!has(&to, name)) to.emplace_back(name, std::move(value));
}

bool is_writable_header(std::string_view name, std::string_view value) noexcept {
    return http::is_token(name) && http::is_field_text(value);
}

bool is_protocol_header(std::string_view name) noexcept {
    static constexpr std::array<std::string_view, 14> reserved = {
        "accept",     "content-type", "content-length",       "content-encoding", "host",
        "connection", "mcp-method",   "mcp-protocol-version", "mcp-session-id",   "mcp-name",
        "te",         "upgrade",      "transfer-encoding",    "last-event-id",
    };
    return std::any_of(reserved.begin(), reserved.end(),
                       [&](std::string_view each) { return http::same_ignoring_case(name, each); });
}

bool is_session_id(std::string_view text) noexcept {
    return !text.empty() && text.size() <= max_session_id &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x21 && c <= 0x7e; });
}

bool is_event_stream_type(std::string_view content_type) noexcept {
    std::string_view type = content_type.substr(0, content_type.find(';'));
    while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
    return http::same_ignoring_case(type, "text/event-stream");
}

}  // namespace keel::http_client
