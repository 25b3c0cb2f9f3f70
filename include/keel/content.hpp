#pragma once

// What tools, prompts and models say: blocks of content.

#include <keel/decode_error.hpp>
#include <keel/json.hpp>
#include <keel/types.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI {

/// One block of content: text, or any other kind the protocol knows. Where the peer's revision does not know the kind,
/// a text that says what was there is sent in its place.
class KEEL_API content {
public:
    content() = default;
    content(std::string text) : text_(std::move(text)) {}
    content(const char* text) : text_(text) {}

    /// `data` is Base64.
    static content image(std::string_view data, std::string_view mime_type);
    static content audio(std::string_view data, std::string_view mime_type);
    /// Bytes as they are; they are encoded here.
    static content image_bytes(std::string_view bytes, std::string_view mime_type);
    static content audio_bytes(std::string_view bytes, std::string_view mime_type);
    /// Points at something that the client can read.
    static content link(const resource& what);
    /// Brings it along.
    static content embed(const resource_contents& what);
    /// A block as it goes over the wire. It must be an object with a "type"; one that is no such thing, or lacks what
    /// its type needs, throws std::invalid_argument.
    static content block(json::value v);

    // For sampling: a model that wants to use a tool, and what the tool gave.
    static content tool_use(std::string_view id, std::string_view name, json::value input);
    static content tool_answer(std::string_view tool_use_id, const std::vector<content>& blocks, bool is_error = false);

    /// Who it is for, and how much it matters.
    content& with(const annotations& notes);
    /// `_meta`: an object.
    content& with_meta(json::value meta);

    /// "text", "image", "audio", "resource_link", "resource", "tool_use", "tool_result"
    std::string_view type() const noexcept;
    bool is_text() const noexcept { return type() == "text"; }
    /// Text and nothing else: no annotations, no `_meta`.
    bool is_plain_text() const noexcept { return block_.is_null(); }
    /// The text of a text block; "" for any other.
    const std::string& text() const noexcept { return text_; }
    /// The Base64 of an image, a sound, or an embedded resource of bytes, as it came; "" for any other.
    std::string_view data() const noexcept;
    /// The same decoded. Nothing where there is none, or where it is no Base64.
    std::optional<std::string> bytes() const;
    /// Of an image, a sound, a linked or an embedded resource; "" for any other, and where it is not told.
    std::string_view mime_type() const noexcept;
    /// Of a linked or an embedded resource; "" for any other.
    std::string_view uri() const noexcept;
    /// What a link points at. Nothing for any other block, and for one that cannot be read.
    std::optional<resource> linked() const;
    /// What was brought along. Nothing for any other block, and for one that cannot be read.
    std::optional<resource_contents> embedded() const;
    /// Anything but plain text, as it goes over the wire; null for plain text.
    const json::value& as_block() const noexcept { return block_; }

    /// Appends the block's JSON. False when it cannot be expressed.
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

/// The whole result of a tool call. A tool that fails in its own business says so here; that is a result, not an error.
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

    /// A failure that the model should read.
    static tool_result failure(std::string text) {
        tool_result r(std::move(text));
        r.is_error = true;
        return r;
    }

    /// The text of all its text blocks, each on lines of its own; "" when there is none.
    std::string text() const;
};

}  // namespace keel
