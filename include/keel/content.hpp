#pragma once

// What a tool gives back.

#include <keel/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace keel {

/// One block of content: text, or any other kind the protocol knows.
class content {
public:
    content(std::string text) : text_(std::move(text)) {}
    content(const char* text) : text_(text) {}

    /// `data` is Base64.
    static content image(std::string data, std::string mime_type);
    static content audio(std::string data, std::string mime_type);
    /// A block as it goes over the wire. It must be an object with a "type".
    static content block(json::value v);

    bool is_text() const noexcept { return block_.is_null(); }
    const std::string& text() const noexcept { return text_; }
    const json::value& as_block() const noexcept { return block_; }

    /// Appends the block's JSON. False when it cannot be expressed.
    [[nodiscard]] bool write(std::string& out) const;

private:
    content() = default;
    std::string text_;
    json::value block_;
};

/// The whole result of a tool call. A tool that fails in its own business says so here; that is a result, not an error.
struct tool_result {
    std::vector<keel::content> content;
    json::value structured;  // null: none
    bool is_error = false;

    tool_result() = default;
    tool_result(std::string text) { content.emplace_back(std::move(text)); }
    tool_result(const char* text) { content.emplace_back(text); }
    tool_result(keel::content block) { content.push_back(std::move(block)); }
    tool_result(std::vector<keel::content> blocks) : content(std::move(blocks)) {}

    /// A failure that the model should read.
    static tool_result failure(std::string text) {
        tool_result r(std::move(text));
        r.is_error = true;
        return r;
    }
};

}  // namespace keel
