#pragma once

// What the official conformance suite expects to find on the server that it tests: tools, resources and prompts with
// fixed names that behave in fixed ways.

#include <keel/server.hpp>

#include <string_view>

namespace keel::conformance {

/// A blue square of 2 by 2 pixels, as Base64.
inline constexpr std::string_view square_png =
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR42mMQsakAIgYIBQAUXgMh98IOXAAAAABJRU5ErkJggg==";

/// A millisecond of silence: a WAV file, as Base64.
inline constexpr std::string_view silence_wav =
    "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==";

/// The first of these tools is called by the suite without arguments and must succeed: lists have the order in which
/// things were added.
void add_content_tools(server& s);   // every kind of content
void add_message_tools(server& s);   // progress, logs, a response stream that ends early
void add_schema_tools(server& s);    // schemas that must reach the client as they are
void add_question_tools(server& s);  // sampling and forms
void add_round_tools(server& s);     // questions of revision 2026-07-28: their keys, their rounds, their state
void add_change_tools(server& s);    // whatever makes a list change
void add_resources(server& s);
void add_prompts(server& s);

}  // namespace keel::conformance
