#include "client/form_check.hpp"

#include "protocol/elicitation_schema.hpp"
#include "protocol/sampling_rules.hpp"

#include <keel/schema.hpp>

#include <algorithm>
#include <utility>

namespace keel::inline KEEL_ABI::client_side {

namespace {

schema compile(const json::value& document) {
    schema_options how;
    how.check_formats = true;  // forms use formats such as "email" and "date"
    return schema(document, how);
}

/// An invalid default is not filled in: it would invalidate an answer that is valid without it.
bool is_good_default(const json::value& property, const json::value& value) {
    try {
        return compile(property).accepts(value);
    } catch (const schema_error&) {
        return false;  // the check of the whole form reports it
    }
}

/// The value types that the protocol allows in an answer.
bool is_field(const json::value& v) noexcept {
    if (v.is_array()) return std::ranges::all_of(v.items(), [](const json::value& each) { return each.is_string(); });
    return v.is_string() || v.is_number() || v.is_bool();
}

}  // namespace

std::optional<std::string> fit_form(const json::value& form, form_answer& answer) {
    if (answer.action != elicit_action::accept) {
        answer.values = json::value();
        return std::nullopt;
    }
    if (answer.values.is_null()) answer.values = json::object();
    if (!answer.values.is_object()) {
        return "form values must be an object, found " + std::string(json::name_of(answer.values.type()));
    }
    // The keywords allowed in a form mean the same in every dialect, and servers name various dialects.
    json::value document = form;
    if (!protocol::elicitation_problem(form)) document.erase("$schema");
    for (const json::member& m : document["properties"].members()) {
        const json::value* preset = m.content.find("default");
        if (preset && !answer.values.contains(m.key()) && is_good_default(m.content, *preset)) {
            answer.values.append(m.key(), *preset);
        }
    }
    for (const json::member& m : answer.values.members()) {
        if (is_field(m.content)) continue;
        return "values." + std::string(m.key()) +
               ": form values must be strings, numbers, booleans or arrays of strings";
    }
    try {
        decode_error e;
        if (compile(document).check(answer.values, e, "values")) return std::nullopt;
        return e.message();
    } catch (const schema_error& e) {
        return std::string("invalid form schema: ") + e.what();
    }
}

std::optional<std::string> fit_sampling(protocol::revision r, bool with_tools, const json::value& params,
                                        sampling_request& request) {
    if (!protocol::has_sampling_tools(r)) {
        request.tools.clear();
        request.tool_choice = std::nullopt;
        return std::nullopt;
    }
    for (std::string_view member : {"tools", "toolChoice"}) {
        if (!with_tools && params.contains(member)) {
            return "\"" + std::string(member) + "\" is present, but the client did not declare sampling.tools";
        }
    }
    if (auto problem = protocol::sampling_problem(request)) return "invalid sampling request: " + *problem;
    return std::nullopt;
}

}  // namespace keel::client_side
