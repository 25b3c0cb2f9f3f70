#pragma once

// Content blocks: the text, images, audio and resources in results of tools, prompts and models.

#include <keel/decode_error.hpp>
#include <keel/json.hpp>
#include <keel/types.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI {

/// One content block: text, or any other type of the protocol. If the peer's protocol revision does not have the type, a text
/// block that describes it is sent instead.
class KEEL_API content {
public:
    content() = default;
    content(std::string text) : text_(std::move(text)) {}
    content(const char* text) : text_(text) {}

    /// `data` is Base64.
    static content image(std::string_view data, std::string_view mime_type);
    static content audio(std::string_view data, std::string_view mime_type);
    /// `bytes` are raw bytes; the function encodes them as Base64.
    static content image_bytes(std::string_view bytes, std::string_view mime_type);
    static content audio_bytes(std::string_view bytes, std::string_view mime_type);
    /// A link to a resource that the client can read.
    static content link(const resource& what);
    /// The contents of a resource.
    static content embed(const resource_contents& what);
    /// A block from its JSON. Throws std::invalid_argument unless `v` is an object with a "type" and all members that its type
    /// requires.
    static content block(json::value v);

    // For sampling: the model's request to call a tool, and the result of the tool.
    static content tool_use(std::string_view id, std::string_view name, json::value input);
    static content tool_answer(std::string_view tool_use_id, const std::vector<content>& blocks, bool is_error = false);

    /// Sets the annotations (audience, priority).
    content& with(const annotations& notes);
    /// Sets `_meta`, an object.
    content& with_meta(json::value meta);

    /// "text", "image", "audio", "resource_link", "resource", "tool_use", "tool_result"
    std::string_view type() const noexcept;
    bool is_text() const noexcept { return type() == "text"; }
    /// True for a text block without annotations and `_meta`.
    bool is_plain_text() const noexcept { return block_.is_null(); }
    /// The text of a text block; "" for other types.
    const std::string& text() const noexcept { return text_; }
    /// The Base64 data of an image, audio or embedded binary resource, not decoded; "" for other types.
    std::string_view data() const noexcept;
    /// The decoded data(). Returns nullopt if there is no data or it is invalid Base64.
    std::optional<std::string> bytes() const;
    /// The MIME type of an image, audio, linked or embedded resource; "" for other types or if missing.
    std::string_view mime_type() const noexcept;
    /// The URI of a linked or embedded resource; "" for other types.
    std::string_view uri() const noexcept;
    /// The resource of a link. Returns nullopt for other types and for an invalid link.
    std::optional<resource> linked() const;
    /// The contents of an embedded resource. Returns nullopt for other types and for an invalid block.
    std::optional<resource_contents> embedded() const;
    /// The JSON of the block; null for plain text.
    const json::value& as_block() const noexcept { return block_; }

    /// Appends the block as JSON text. Returns false if JSON cannot represent it (invalid UTF-8, NaN).
    [[nodiscard]] bool write(std::string& out) const;

private:
    friend bool keel_decode(const json::value& from, content& into, decode_error& error);

    json::value& changeable();
    const json::value& about() const noexcept;
    std::optional<std::string_view> base64() const noexcept;

    std::string text_;
    json::value block_;
};

// For keel/describe.hpp.
KEEL_API json::value keel_encode(const content& from);
KEEL_API bool keel_decode(const json::value& from, content& into, decode_error& error);
inline bool keel_write_json(std::string& out, const content& from) { return from.write(out); }

/// The result of a tool call. A tool-level error is a result with `is_error`, which the model can read; it is not a protocol error.
struct KEEL_API tool_result {
    std::vector<keel::content> content;
    std::optional<json::value> structured;
    bool is_error = false;
    json::value meta;  // `_meta`; null: none

    tool_result() = default;
    tool_result(std::string text) { content.emplace_back(std::move(text)); }
    tool_result(const char* text) { content.emplace_back(text); }
    tool_result(keel::content block) { content.push_back(std::move(block)); }
    tool_result(std::vector<keel::content> blocks) : content(std::move(blocks)) {}

    /// A tool-level error with a text for the model.
    static tool_result failure(std::string text) {
        tool_result r(std::move(text));
        r.is_error = true;
        return r;
    }

    /// The text of all text blocks, joined with newlines; "" if there are none.
    std::string text() const;
};

}  // namespace keel
