#pragma once

// The result of a prompt: messages for a model.

#include <keel/content.hpp>
#include <keel/types.hpp>

#include <string>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI {

/// One message of the user or the model, with one content block.
struct KEEL_API prompt_message {
    keel::role role = keel::role::user;
    keel::content content;

    prompt_message() = default;
    prompt_message(keel::content said) : content(std::move(said)) {}
    prompt_message(keel::role who, keel::content said) : role(who), content(std::move(said)) {}
};

struct KEEL_API prompt_result {
    std::string description;
    std::vector<prompt_message> messages;
    json::value meta;  // `_meta`; null: none

    prompt_result() = default;
    prompt_result(std::string user_text) { messages.emplace_back(content(std::move(user_text))); }
    prompt_result(const char* user_text) { messages.emplace_back(content(user_text)); }
    prompt_result(prompt_message one) { messages.push_back(std::move(one)); }
    prompt_result(std::vector<prompt_message> all) : messages(std::move(all)) {}
    prompt_result(std::string about, std::vector<prompt_message> all)
        : description(std::move(about)), messages(std::move(all)) {}
};

}  // namespace keel
