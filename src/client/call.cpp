#include <keel/call.hpp>

#include <keel/error.hpp>

#include <algorithm>
#include <utility>

namespace keel::inline KEEL_ABI {

namespace {

/// nullopt if there is no text block.
std::optional<std::string> text_of(const tool_result& r) {
    bool any = std::any_of(r.content.begin(), r.content.end(), [](const content& block) { return block.is_text(); });
    return any ? std::optional(r.text()) : std::nullopt;
}

}  // namespace

tool_failed::tool_failed(tool_result r)
    : std::runtime_error(text_of(r).value_or("the tool reported an error without a text")),
      result_(std::make_shared<const tool_result>(std::move(r))) {}
tool_failed::~tool_failed() = default;  // see src/async/error.cpp

namespace detail {

json::value value_of(const tool_result& r, bool wants_text) {
    std::optional<std::string> text;
    // If the caller wants text, a structured object cannot be decoded; servers repeat it as text.
    if (!r.structured || (wants_text && !r.structured->is_string())) text = text_of(r);
    if (!text) return r.structured.value_or(json::value());
    if (wants_text) return json::value(*text);
    json::document document;
    const json::value* read = document.read(*text);
    // Copied out of the document. Text that is not JSON stays text: decoding it then reports the expected type.
    return read ? json::value(*read) : json::value(*text);
}

void throw_unexpected_result(const decode_error& e) {
    throw error(error_kind::bad_message, "the tool's result does not have the expected type: " + e.message());
}

}  // namespace detail

}  // namespace keel
