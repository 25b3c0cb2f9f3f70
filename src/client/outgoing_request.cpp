#include "client/outgoing_request.hpp"

#include "protocol/meta_keys.hpp"
#include "protocol/trace_context.hpp"
#include "rpc/message.hpp"

#include <stdexcept>

namespace keel::inline KEEL_ABI::client_side {

namespace {

// Rejects reserved and invalid `_meta` entries of a caller (VER-07, META-01, META-03).
void check_meta(std::string_view key, std::string_view text) {
    auto refuse = [&](const char* why) {
        throw std::invalid_argument("keel: _meta: \"" + rpc::printable(key) + "\" " + why);
    };
    if (key == "progressToken" || key.starts_with("io.modelcontextprotocol/")) refuse("is set by the library");
    if (!protocol::is_valid_meta_key(key)) refuse("is not a valid key");
    bool fits = key == "traceparent"  ? protocol::is_traceparent(text)
                : key == "tracestate" ? protocol::is_tracestate(text)
                : key == "baggage"    ? protocol::is_baggage(text)
                                      : true;
    if (!fits) refuse("does not have the format that the W3C specifies");
}

}  // namespace

void append_member(std::string& members, std::string_view key, const json::value& v) {
    if (!members.empty()) members += ',';
    members += '"';
    members += key;
    members += "\":";
    if (!json::write(members, v)) {
        throw std::invalid_argument("keel: '" + std::string(key) + "' is not representable as JSON");
    }
}

std::string members_of(const json::value& params, json::value& meta) {
    if (!params.is_null() && !params.is_object()) throw std::invalid_argument("keel: params must be a JSON object");
    std::string members;
    for (const json::member& each : params.members()) {
        if (each.key() == "_meta") {
            for (const json::member& own : each.content.members()) {
                if (!meta.contains(own.key())) meta.set(own.key(), own.content);
            }
            continue;
        }
        if (!members.empty()) members += ',';
        if (!json::write(members, each.name)) throw std::invalid_argument("keel: invalid parameter name: not UTF-8");
        members += ':';
        if (!json::write(members, each.content)) {
            throw std::invalid_argument("keel: '" + std::string(each.key()) + "' is not representable as JSON");
        }
    }
    return members;
}

void append_meta(std::string& text, const json::value& object) {
    if (object.is_null()) return;
    if (!object.is_object()) throw std::invalid_argument("keel: _meta must be a JSON object");
    for (const json::member& each : object.members()) {
        check_meta(each.key(), each.content.if_string().value_or(""));
        if (!text.empty()) text += ',';
        if (!json::write(text, each.name)) throw std::invalid_argument("keel: invalid _meta key: not UTF-8");
        text += ':';
        if (!json::write(text, each.content))
            throw std::invalid_argument("keel: invalid _meta: not representable as JSON");
    }
}

}  // namespace keel::client_side
