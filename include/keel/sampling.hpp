#pragma once

// Sampling: the request for a message of the client's model, and its result.
//
// Types that are passed to a co_await have constructors, because g++ 12 destroys temporaries of aggregates twice there.

#include <keel/content.hpp>
#include <keel/types.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI {

/// One message of the conversation. Before revision 2025-11-25 a message has one block: several blocks are sent as several
/// messages.
struct KEEL_API sampling_message {
    keel::role role = keel::role::user;
    std::vector<keel::content> content;
    json::value meta;

    sampling_message() = default;
    sampling_message(keel::content said) { content.push_back(std::move(said)); }
    sampling_message(keel::role who, keel::content said) : role(who) { content.push_back(std::move(said)); }
    sampling_message(keel::role who, std::vector<keel::content> said) : role(who), content(std::move(said)) {}
};

/// A tool that the model may call (revision 2025-11-25 and later). The server that sent the request runs it.
using sampling_tool = tool;

enum class tool_choice : unsigned char {
    automatic,  // the model decides
    required,   // the model must call at least one tool
    none,       // the model must not call tools
};

/// The context of servers that the client should add. Values other than `none` are deprecated in the protocol.
enum class include_context : unsigned char { none, this_server, all_servers };

struct KEEL_API sampling_request {
    std::vector<sampling_message> messages;
    std::int64_t max_tokens = 1000;
    std::optional<keel::model_preferences> model_preferences;
    std::string system_prompt;
    keel::include_context include_context = keel::include_context::none;
    std::optional<double> temperature;
    std::vector<std::string> stop_sequences;
    json::value metadata;  // for the model's provider; null: none
    std::vector<sampling_tool> tools;
    std::optional<keel::tool_choice> tool_choice;
    json::value meta;

    sampling_request() = default;
    sampling_request(std::string user_text, std::int64_t most_tokens = 1000) : max_tokens(most_tokens) {
        messages.emplace_back(content(std::move(user_text)));
    }
    sampling_request(std::vector<sampling_message> conversation, std::int64_t most_tokens = 1000)
        : messages(std::move(conversation)), max_tokens(most_tokens) {}
};

struct KEEL_API sampling_result {
    keel::role role = keel::role::assistant;
    std::vector<keel::content> content;
    std::string model;
    std::string stop_reason;  // "endTurn", "stopSequence", "maxTokens", "toolUse", or another; "" if missing
    json::value meta;

    sampling_result() = default;
    sampling_result(keel::content said, std::string model_name, std::string why_stopped = {})
        : model(std::move(model_name)), stop_reason(std::move(why_stopped)) {
        content.push_back(std::move(said));
    }

    /// The text of all text blocks, concatenated.
    std::string text() const;
};

}  // namespace keel
