#pragma once

// The JSON form of the protocol types: with this header, keel::encode and keel::decode support them. The names of members in JSON
// are defined here only.

#include <keel/content.hpp>
#include <keel/describe.hpp>
#include <keel/prompt.hpp>
#include <keel/sampling.hpp>
#include <keel/types.hpp>

namespace keel::inline KEEL_ABI {

KEEL_DESCRIBE_ENUM(role, user, assistant)
KEEL_DESCRIBE_ENUM(icon_theme, light, dark)  // icon_theme::any is encoded by omitting the member
KEEL_DESCRIBE_ENUM(include_context, none, (this_server, "thisServer"), (all_servers, "allServers"))

KEEL_DESCRIBE(icon, (source, wire("src")), (mime_type, wire("mimeType"), omit_empty), (sizes, omit_empty),
              (theme, omit_empty))

KEEL_DESCRIBE(annotations, (audience, omit_empty), priority, (last_modified, wire("lastModified"), omit_empty))

KEEL_DESCRIBE(implementation, name, version, (title, omit_empty), (description, omit_empty),
              (website_url, wire("websiteUrl"), omit_empty), (icons, omit_empty))

KEEL_DESCRIBE(tool_annotations, (title, omit_empty), (read_only, wire("readOnlyHint")),
              (destructive, wire("destructiveHint")), (idempotent, wire("idempotentHint")),
              (open_world, wire("openWorldHint")))

KEEL_DESCRIBE(tool, name, (title, omit_empty), (description, omit_empty), (input_schema, wire("inputSchema")),
              (output_schema, wire("outputSchema"), omit_empty), annotations, (icons, omit_empty),
              (meta, wire("_meta"), omit_empty), (others, rest))

KEEL_DESCRIBE(resource, uri, name, (title, omit_empty), (description, omit_empty),
              (mime_type, wire("mimeType"), omit_empty), size, annotations, (icons, omit_empty),
              (meta, wire("_meta"), omit_empty))

KEEL_DESCRIBE(resource_template, (uri_template, wire("uriTemplate")), name, (title, omit_empty),
              (description, omit_empty), (mime_type, wire("mimeType"), omit_empty), annotations, (icons, omit_empty),
              (meta, wire("_meta"), omit_empty))

KEEL_DESCRIBE(resource_contents, uri, (mime_type, wire("mimeType"), omit_empty), text, blob,
              (meta, wire("_meta"), omit_empty))

KEEL_DESCRIBE(prompt_argument, name, (title, omit_empty), (description, omit_empty), (required, omit_empty))

KEEL_DESCRIBE(prompt, name, (title, omit_empty), (description, omit_empty), (arguments, omit_empty),
              (icons, omit_empty), (meta, wire("_meta"), omit_empty))

KEEL_DESCRIBE(prompt_message, role, content)

KEEL_DESCRIBE(prompt_result, (description, omit_empty), messages, (meta, wire("_meta"), omit_empty))

KEEL_DESCRIBE(root, uri, (name, omit_empty), (meta, wire("_meta"), omit_empty))

KEEL_DESCRIBE(completion, values, total, (has_more, wire("hasMore")))

KEEL_DESCRIBE(model_hint, (name, omit_empty))

KEEL_DESCRIBE(model_preferences, (hints, omit_empty), (cost_priority, wire("costPriority")),
              (speed_priority, wire("speedPriority")), (intelligence_priority, wire("intelligencePriority")))

KEEL_DESCRIBE(sampling_message, role, (content, one_or_many), (meta, wire("_meta"), omit_empty))

// In JSON a tool choice is an object: {"mode": "auto"}.
KEEL_API json::value keel_encode(tool_choice from);
KEEL_API bool keel_decode(const json::value& from, tool_choice& into, decode_error& error);

KEEL_DESCRIBE(sampling_request, messages, (max_tokens, wire("maxTokens")),
              (model_preferences, wire("modelPreferences")), (system_prompt, wire("systemPrompt"), omit_empty),
              (include_context, wire("includeContext"), omit_empty), temperature,
              (stop_sequences, wire("stopSequences"), omit_empty), (metadata, omit_empty), (tools, omit_empty),
              (tool_choice, wire("toolChoice")), (meta, wire("_meta"), omit_empty))

KEEL_DESCRIBE(sampling_result, role, (content, one_or_many), model, (stop_reason, wire("stopReason"), omit_empty),
              (meta, wire("_meta"), omit_empty))

}  // namespace keel
