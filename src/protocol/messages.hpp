#pragma once

// The parameters and results of client requests, and of all notifications. Members that only some revisions have are
// optional: encode_for (revisions.hpp) omits members that the revision in force lacks, and decoding does not require
// them.
//
// `_meta` is kept unchanged. The requests of servers (sampling, elicitation, roots) are in server_requests.hpp.

#include "protocol/cache_hints.hpp"
#include "protocol/capabilities.hpp"
#include "protocol/server_requests.hpp"

#include <keel/log_level.hpp>
#include <keel/types_json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace keel::inline KEEL_ABI {

KEEL_DESCRIBE_ENUM(log_level, debug, info, notice, warning, error, critical, alert, emergency)

}  // namespace keel

namespace keel::inline KEEL_ABI::protocol {

// ---- without parameters, without results ----

/// ping, server/discover, roots/list, notifications/initialized, …/list_changed.
struct empty_params {
    json::value meta = {};
    json::value others = {};
};
KEEL_DESCRIBE(empty_params, (meta, wire("_meta"), omit_empty), (others, rest))

struct empty_result {
    std::string result_type = "complete";
    json::value meta = {};
    json::value others = {};
};
KEEL_DESCRIBE(empty_result, (result_type, wire("resultType"), omit_empty), (meta, wire("_meta"), omit_empty),
              (others, rest))

// ---- opening ----

struct initialize_params {
    std::string protocol_version = {};
    client_capabilities capabilities = {};
    implementation client_info = {};
    json::value meta = {};
};
KEEL_DESCRIBE(initialize_params, (protocol_version, wire("protocolVersion")), capabilities,
              (client_info, wire("clientInfo")), (meta, wire("_meta"), omit_empty))

struct initialize_result {
    std::string protocol_version = {};
    server_capabilities capabilities = {};
    implementation server_info = {};
    std::string instructions = {};
    json::value meta = {};
};
KEEL_DESCRIBE(initialize_result, (protocol_version, wire("protocolVersion")), capabilities,
              (server_info, wire("serverInfo")), (instructions, omit_empty), (meta, wire("_meta"), omit_empty))

struct discover_result {
    std::string result_type = "complete";
    std::vector<std::string> supported_versions = {};
    server_capabilities capabilities = {};
    std::string instructions = {};
    cache_ttl ttl_ms = {};
    protocol::cache_scope cache_scope = {};
    json::value meta = {};
};
KEEL_DESCRIBE(discover_result, (result_type, wire("resultType"), omit_empty),
              (supported_versions, wire("supportedVersions")), capabilities, (instructions, omit_empty),
              (ttl_ms, wire("ttlMs"), defaulted), (cache_scope, wire("cacheScope"), defaulted),
              (meta, wire("_meta"), omit_empty))

// ---- lists ----

struct list_params {
    std::optional<std::string> cursor = {};  // an empty string is a valid cursor
    json::value meta = {};
};
KEEL_DESCRIBE(list_params, cursor, (meta, wire("_meta"), omit_empty))

struct list_tools_result {
    std::string result_type = "complete";
    std::vector<tool> tools = {};
    std::optional<std::string> next_cursor = {};
    cache_ttl ttl_ms = {};
    protocol::cache_scope cache_scope = {};
    json::value meta = {};
};
KEEL_DESCRIBE(list_tools_result, (result_type, wire("resultType"), omit_empty), tools,
              (next_cursor, wire("nextCursor")), (ttl_ms, wire("ttlMs"), defaulted),
              (cache_scope, wire("cacheScope"), defaulted), (meta, wire("_meta"), omit_empty))

struct list_prompts_result {
    std::string result_type = "complete";
    std::vector<prompt> prompts = {};
    std::optional<std::string> next_cursor = {};
    cache_ttl ttl_ms = {};
    protocol::cache_scope cache_scope = {};
    json::value meta = {};
};
KEEL_DESCRIBE(list_prompts_result, (result_type, wire("resultType"), omit_empty), prompts,
              (next_cursor, wire("nextCursor")), (ttl_ms, wire("ttlMs"), defaulted),
              (cache_scope, wire("cacheScope"), defaulted), (meta, wire("_meta"), omit_empty))

struct list_resources_result {
    std::string result_type = "complete";
    std::vector<resource> resources = {};
    std::optional<std::string> next_cursor = {};
    cache_ttl ttl_ms = {};
    protocol::cache_scope cache_scope = {};
    json::value meta = {};
};
KEEL_DESCRIBE(list_resources_result, (result_type, wire("resultType"), omit_empty), resources,
              (next_cursor, wire("nextCursor")), (ttl_ms, wire("ttlMs"), defaulted),
              (cache_scope, wire("cacheScope"), defaulted), (meta, wire("_meta"), omit_empty))

struct list_resource_templates_result {
    std::string result_type = "complete";
    std::vector<resource_template> resource_templates = {};
    std::optional<std::string> next_cursor = {};
    cache_ttl ttl_ms = {};
    protocol::cache_scope cache_scope = {};
    json::value meta = {};
};
KEEL_DESCRIBE(list_resource_templates_result, (result_type, wire("resultType"), omit_empty),
              (resource_templates, wire("resourceTemplates")), (next_cursor, wire("nextCursor")),
              (ttl_ms, wire("ttlMs"), defaulted), (cache_scope, wire("cacheScope"), defaulted),
              (meta, wire("_meta"), omit_empty))

// ---- calls, prompts, reads ----

struct call_tool_params {
    std::string name = {};
    json::value arguments = {};  // an object, or null
    std::optional<protocol::input_responses> input_responses = {};
    std::optional<std::string> request_state = {};
    json::value meta = {};
    json::value others = {};
};
KEEL_DESCRIBE(call_tool_params, name, (arguments, omit_empty), (input_responses, wire("inputResponses")),
              (request_state, wire("requestState")), (meta, wire("_meta"), omit_empty), (others, rest))

struct call_tool_result {
    std::string result_type = "complete";
    std::vector<keel::content> content = {};
    std::optional<json::value> structured_content = {};  // null is a valid value in 2026-07-28
    std::optional<bool> is_error = {};
    json::value meta = {};
    json::value others = {};
};
KEEL_DESCRIBE(call_tool_result, (result_type, wire("resultType"), omit_empty), content,
              (structured_content, wire("structuredContent")), (is_error, wire("isError")),
              (meta, wire("_meta"), omit_empty), (others, rest))

struct get_prompt_params {
    std::string name = {};
    std::map<std::string, std::string> arguments = {};
    std::optional<protocol::input_responses> input_responses = {};
    std::optional<std::string> request_state = {};
    json::value meta = {};
    json::value others = {};
};
KEEL_DESCRIBE(get_prompt_params, name, (arguments, omit_empty), (input_responses, wire("inputResponses")),
              (request_state, wire("requestState")), (meta, wire("_meta"), omit_empty), (others, rest))

struct get_prompt_result {
    std::string result_type = "complete";
    std::string description = {};
    std::vector<prompt_message> messages = {};
    json::value meta = {};
};
KEEL_DESCRIBE(get_prompt_result, (result_type, wire("resultType"), omit_empty), (description, omit_empty), messages,
              (meta, wire("_meta"), omit_empty))

struct read_resource_params {
    std::string uri = {};
    std::optional<protocol::input_responses> input_responses = {};
    std::optional<std::string> request_state = {};
    json::value meta = {};
    json::value others = {};
};
KEEL_DESCRIBE(read_resource_params, uri, (input_responses, wire("inputResponses")),
              (request_state, wire("requestState")), (meta, wire("_meta"), omit_empty), (others, rest))

struct read_resource_result {
    std::string result_type = "complete";
    std::vector<resource_contents> contents = {};
    cache_ttl ttl_ms = {};
    protocol::cache_scope cache_scope = {};
    json::value meta = {};
};
KEEL_DESCRIBE(read_resource_result, (result_type, wire("resultType"), omit_empty), contents,
              (ttl_ms, wire("ttlMs"), defaulted), (cache_scope, wire("cacheScope"), defaulted),
              (meta, wire("_meta"), omit_empty))

// ---- subscriptions ----

struct uri_params {
    std::string uri = {};
    json::value meta = {};
};
KEEL_DESCRIBE(uri_params, uri, (meta, wire("_meta"), omit_empty))

struct subscription_filter {
    std::optional<bool> tools_list_changed = {};
    std::optional<bool> prompts_list_changed = {};
    std::optional<bool> resources_list_changed = {};
    std::vector<std::string> resource_subscriptions = {};
    json::value others = {};
};
KEEL_DESCRIBE(subscription_filter, (tools_list_changed, wire("toolsListChanged")),
              (prompts_list_changed, wire("promptsListChanged")),
              (resources_list_changed, wire("resourcesListChanged")),
              (resource_subscriptions, wire("resourceSubscriptions"), omit_empty), (others, rest))

/// subscriptions/listen, and notifications/subscriptions/acknowledged.
struct listen_params {
    subscription_filter notifications = {};
    json::value meta = {};
};
KEEL_DESCRIBE(listen_params, notifications, (meta, wire("_meta"), omit_empty))

// ---- completion ----

struct prompt_reference {
    std::string name = {};
    std::string title = {};
};
KEEL_DESCRIBE_TAGGED(prompt_reference, "type", "ref/prompt", name, (title, omit_empty))

/// A resource, or a resource template.
struct resource_reference {
    std::string uri = {};
};
KEEL_DESCRIBE_TAGGED(resource_reference, "type", "ref/resource", uri)

struct completion_argument {
    std::string name = {};
    std::string value = {};
};
KEEL_DESCRIBE(completion_argument, name, value)

struct completion_context {
    std::map<std::string, std::string> arguments = {};
};
KEEL_DESCRIBE(completion_context, (arguments, omit_empty))

struct complete_params {
    std::variant<prompt_reference, resource_reference> ref = {};
    completion_argument argument = {};
    std::optional<completion_context> context = {};
    json::value meta = {};
};
KEEL_DESCRIBE(complete_params, ref, argument, context, (meta, wire("_meta"), omit_empty))

struct complete_result {
    std::string result_type = "complete";
    keel::completion completion = {};
    json::value meta = {};
};
KEEL_DESCRIBE(complete_result, (result_type, wire("resultType"), omit_empty), completion,
              (meta, wire("_meta"), omit_empty))

// ---- logging ----

struct set_level_params {
    log_level level = log_level::info;
    json::value meta = {};
};
KEEL_DESCRIBE(set_level_params, level, (meta, wire("_meta"), omit_empty))

/// notifications/message
struct log_message_params {
    log_level level = log_level::info;
    std::string logger = {};
    json::value data = {};
    json::value meta = {};
};
KEEL_DESCRIBE(log_message_params, level, (logger, omit_empty), data, (meta, wire("_meta"), omit_empty))

// ---- further notifications ----

struct cancelled_params {
    json::value request_id = {};  // a string or an integer; null if missing, which 2025-11-25 allows for tasks
    std::string reason = {};
    json::value meta = {};
};
KEEL_DESCRIBE(cancelled_params, (request_id, wire("requestId"), omit_empty), (reason, omit_empty),
              (meta, wire("_meta"), omit_empty))

struct progress_params {
    json::value progress_token = {};  // a string or an integer
    double progress = 0;
    std::optional<double> total = {};
    std::string message = {};
    json::value meta = {};
};
KEEL_DESCRIBE(progress_params, (progress_token, wire("progressToken")), progress, total, (message, omit_empty),
              (meta, wire("_meta"), omit_empty))

// ---- errors ----

struct error_object {
    std::int64_t code = 0;
    std::string message = {};
    std::optional<json::value> data = {};
};
KEEL_DESCRIBE(error_object, code, message, data)

/// `data` of the error for an unsupported protocol version.
struct unsupported_version {
    std::vector<std::string> supported = {};
    std::string requested = {};
};
KEEL_DESCRIBE(unsupported_version, supported, requested)

/// `data` of the error for a request that requires capabilities which the client lacks.
struct missing_capabilities {
    client_capabilities required = {};
};
KEEL_DESCRIBE(missing_capabilities, (required, wire("requiredCapabilities")))

}  // namespace keel::protocol
