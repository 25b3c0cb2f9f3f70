#pragma once

// The fixtures that the official conformance suite expects on the tested server: tools, resources and prompts with
// fixed names and behavior.

#include <keel/server.hpp>

#include <string_view>

namespace keel::conformance {

/// A blue square of 2 by 2 pixels, as Base64.
inline constexpr std::string_view square_png =
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR42mMQsakAIgYIBQAUXgMh98IOXAAAAABJRU5ErkJggg==";

/// A millisecond of silence: a WAV file, as Base64.
inline constexpr std::string_view silence_wav =
    "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==";

/// The suite calls the first of these tools without arguments, and it must succeed: lists are in the order in which
/// items were added.
void add_content_tools(server& s);   // every kind of content
void add_message_tools(server& s);   // progress, logs, a response stream that ends early
void add_schema_tools(server& s);    // schemas that must reach the client unchanged
void add_question_tools(server& s);  // sampling and forms
void add_round_tools(server& s);     // input_required results of revision 2026-07-28: keys, rounds, state
void add_change_tools(server& s);    // tools that change lists
void add_resources(server& s);
void add_prompts(server& s);

}  // namespace keel::conformance
