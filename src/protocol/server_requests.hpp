#pragma once

// Requests of a server to its client (sampling, elicitation, roots), sent as a request or in an input_required result.
// The types of sampling are keel::sampling_request and keel::sampling_result.

#include <keel/asking.hpp>
#include <keel/types_json.hpp>

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace keel::inline KEEL_ABI {

KEEL_DESCRIBE_ENUM(elicit_action, accept, decline, cancel)

}  // namespace keel

namespace keel::inline KEEL_ABI::protocol {

// ---- roots ----

struct list_roots_result {
    std::vector<root> roots = {};
    json::value meta = {};
};
KEEL_DESCRIBE(list_roots_result, roots, (meta, wire("_meta"), omit_empty))

// ---- elicitation ----

/// A missing mode means a form.
enum class form_mode : unsigned char { unsaid, form };
KEEL_DESCRIBE_ENUM(form_mode, form)

struct elicit_form_params {
    form_mode mode = form_mode::unsaid;
    std::string message = {};
    json::value requested_schema = {};  // in the subset of form_schema
    json::value meta = {};
    json::value others = {};
};
KEEL_DESCRIBE(elicit_form_params, (mode, omit_empty), message, (requested_schema, wire("requestedSchema")),
              (meta, wire("_meta"), omit_empty), (others, rest))

struct elicit_url_params {
    std::string message = {};
    std::string url = {};
    std::string elicitation_id = {};  // required in 2025-11-25
    json::value meta = {};
    json::value others = {};
};
KEEL_DESCRIBE_TAGGED(elicit_url_params, "mode", "url", message, url,
                     (elicitation_id, wire("elicitationId"), omit_empty), (meta, wire("_meta"), omit_empty),
                     (others, rest))

using elicit_params = std::variant<elicit_form_params, elicit_url_params>;

struct elicit_result {
    elicit_action action = elicit_action::cancel;
    json::value content = {};  // an object if a form was accepted; null otherwise
    json::value meta = {};
};
KEEL_DESCRIBE(elicit_result, action, (content, omit_empty), (meta, wire("_meta"), omit_empty))

/// notifications/elicitation/complete
struct elicitation_complete_params {
    std::string elicitation_id = {};
    json::value meta = {};
};
KEEL_DESCRIBE(elicitation_complete_params, (elicitation_id, wire("elicitationId")), (meta, wire("_meta"), omit_empty))

// ---- the fields of a form ----

enum class form_type : unsigned char { string, number, integer, boolean, array };
KEEL_DESCRIBE_ENUM(form_type, string, number, integer, boolean, array)

/// A value with a title.
struct form_choice {
    std::string value = {};
    std::string title = {};
};
KEEL_DESCRIBE(form_choice, (value, wire("const")), title)

/// The choices of an array: one of the two members is set.
struct form_items {
    std::string type = {};
    std::vector<std::string> values = {};
    std::vector<form_choice> choices = {};
};
KEEL_DESCRIBE(form_items, (type, omit_empty), (values, wire("enum"), omit_empty), (choices, wire("anyOf"), omit_empty))

/// One field: a string, a number, a boolean, a choice, or a multiple choice.
struct form_field {
    form_type type = form_type::string;
    std::string title = {};
    std::string description = {};
    std::string format = {};
    std::optional<std::int64_t> min_length = {};
    std::optional<std::int64_t> max_length = {};
    std::optional<double> minimum = {};
    std::optional<double> maximum = {};
    std::vector<std::string> values = {};
    std::vector<std::string> value_names = {};
    std::vector<form_choice> choices = {};
    std::optional<form_items> items = {};
    std::optional<std::int64_t> min_items = {};
    std::optional<std::int64_t> max_items = {};
    std::optional<json::value> initial = {};
    json::value others = {};
};
KEEL_DESCRIBE(form_field, type, (title, omit_empty), (description, omit_empty), (format, omit_empty),
              (min_length, wire("minLength")), (max_length, wire("maxLength")), minimum, maximum,
              (values, wire("enum"), omit_empty), (value_names, wire("enumNames"), omit_empty),
              (choices, wire("oneOf"), omit_empty), items, (min_items, wire("minItems")), (max_items, wire("maxItems")),
              (initial, wire("default")), (others, rest))

/// The whole form: a flat object of fields.
struct form_schema {
    std::string dialect = {};
    std::string type = "object";
    std::map<std::string, form_field> properties = {};
    std::vector<std::string> required = {};
    json::value others = {};
};
KEEL_DESCRIBE(form_schema, (dialect, wire("$schema"), omit_empty), type, properties, (required, omit_empty),
              (others, rest))

// ---- input_required (2026-07-28) ----

/// A request without an id: its response is returned under the same key.
struct input_request {
    std::string method = {};
    json::value params = {};
};
KEEL_DESCRIBE(input_request, method, (params, omit_empty))

using input_requests = std::map<std::string, input_request>;
/// The results by key, without JSON-RPC envelope.
using input_responses = std::map<std::string, json::value>;

struct input_required_result {
    std::string result_type = "input_required";
    protocol::input_requests input_requests = {};
    std::optional<std::string> request_state = {};
    json::value meta = {};
};
KEEL_DESCRIBE(input_required_result, (result_type, wire("resultType")),
              (input_requests, wire("inputRequests"), omit_empty), (request_state, wire("requestState")),
              (meta, wire("_meta"), omit_empty))

}  // namespace keel::protocol
