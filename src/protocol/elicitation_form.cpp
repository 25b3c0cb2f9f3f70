#include "protocol/elicitation_form.hpp"

namespace keel::inline KEEL_ABI::protocol {

namespace {

/// Rewrites `oneOf: [{const, title}]` as `enum` and `enumNames`.
void name_choices_beside(json::value& field) {
    const json::value* choices = field.find("oneOf");
    if (!choices) return;
    json::value values = json::array();
    json::value names = json::array();
    for (const json::value& each : choices->items()) {
        values.push_back(each["const"]);
        names.push_back(each.contains("title") ? each["title"] : each["const"]);
    }
    field.erase("oneOf");
    field.set("enum", std::move(values));
    field.set("enumNames", std::move(names));
}

}  // namespace

std::optional<json::value> form_for(revision r, json::value form) {
    if (r >= revision::r2025_11_25) return form;
    form.erase("$schema");
    for (json::member& m : form.find("properties")->members()) {
        json::value& field = m.content;
        auto type = field["type"].if_string();
        if (type == std::string_view("array")) return std::nullopt;
        if (type != std::string_view("boolean")) field.erase("default");
        field.erase("pattern");
        name_choices_beside(field);
    }
    return form;
}

}  // namespace keel::protocol
