#include "protocol/sampling_rules.hpp"

#include <set>

namespace keel::inline KEEL_ABI::protocol {

namespace {

std::string_view type_of(const content& block) {
    return block.is_text() ? std::string_view("text") : block.as_block()["type"].if_string().value_or("");
}

std::set<std::string> ids_of(const sampling_message& m, std::string_view type, std::string_view member) {
    std::set<std::string> ids;
    for (const content& block : m.content) {
        if (type_of(block) == type) ids.emplace(block.as_block()[member].if_string().value_or(""));
    }
    return ids;
}

}  // namespace

std::optional<std::string> sampling_problem(const sampling_request& request) {
    if (request.messages.empty()) return "it has no messages";
    std::set<std::string> awaited;  // ids of tool uses that have no result yet
    for (std::size_t i = 0; i < request.messages.size(); ++i) {
        const sampling_message& m = request.messages[i];
        std::string where = "message " + std::to_string(i) + ": ";
        if (m.content.empty()) return where + "it is empty";
        std::set<std::string> results = ids_of(m, "tool_result", "toolUseId");
        if (!results.empty()) {
            if (m.role != role::user) return where + "tool results must be in a user message";
            for (const content& block : m.content) {
                if (type_of(block) != "tool_result")
                    return where + "a message with tool results must contain nothing else";
            }
        }
        if (results != awaited) return where + "tool results must match the tool uses of the previous message";
        awaited = ids_of(m, "tool_use", "id");
        if (!awaited.empty() && m.role != role::assistant) return where + "tool uses must be in an assistant message";
    }
    if (!awaited.empty()) return "the tool results for the last message are missing";
    return std::nullopt;
}

}  // namespace keel::protocol
