#include "server/tool_table.hpp"

#include <algorithm>

namespace keel::server_side {

tool_table::tool_table(std::vector<std::shared_ptr<const tool>> tools) : tools_(std::move(tools)) {
    index_.reserve(tools_.size());
    for (std::size_t i = 0; i < tools_.size(); ++i) index_.emplace(tools_[i]->about.name, i);
}

const std::shared_ptr<const tool>* tool_table::find(std::string_view name) const noexcept {
    auto at = index_.find(name);
    return at == index_.end() ? nullptr : &tools_[at->second];
}

namespace {

json::value describe(const tool_description& t, protocol::revision r) {
    json::value v = json::object({{"name", t.name}});
    if (protocol::has_titles(r) && !t.options.title.empty()) v.append("title", t.options.title);
    if (!t.description.empty()) v.append("description", t.description);
    v.append("inputSchema", t.input_schema);
    if (protocol::has_structured_content(r) && !t.output_schema.is_null()) v.append("outputSchema", t.output_schema);
    if (protocol::has_annotations(r) && !t.options.annotations.is_null())
        v.append("annotations", t.options.annotations);
    if (protocol::has_titles(r) && !t.options.meta.is_null()) v.append("_meta", t.options.meta);
    return v;
}

}  // namespace

const std::string& tool_table::list(protocol::revision r) const {
    auto which = static_cast<std::size_t>(r);
    std::call_once(once_[which], [&] {
        std::string text = R"("tools":[)";
        for (const auto& t : tools_) {
            if (text.back() != '[') text += ',';
            // check() has made sure that every tool can be written.
            if (!json::write(text, describe(t->about, r))) text += "null";
        }
        text += ']';
        lists_[which] = std::move(text);
    });
    return lists_[which];
}

void check(const tool& t) {
    const tool_description& about = t.about;
    auto refuse = [&](const std::string& field, const std::string& why) {
        std::string name = json::is_utf8(about.name) ? about.name : "?";
        throw std::invalid_argument("keel: tool \"" + name + "\": " + field + ": " + why);
    };
    auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
               c == '.';
    };
    if (about.name.empty() || about.name.size() > 128) refuse("name", "must have 1 to 128 characters");
    if (!std::all_of(about.name.begin(), about.name.end(), allowed)) {
        refuse("name", "may hold only letters, digits, '_', '-' and '.'");
    }
    auto must_be_object_schema = [&](const char* field, const json::value& schema) {
        if (!schema.is_object()) refuse(field, "must be a JSON object");
        if (schema["type"].if_string() != std::string_view("object")) refuse(field, "must have \"type\": \"object\"");
    };
    must_be_object_schema("input_schema", about.input_schema);
    if (!about.output_schema.is_null()) must_be_object_schema("output_schema", about.output_schema);
    if (!about.options.annotations.is_null() && !about.options.annotations.is_object()) {
        refuse("annotations", "must be a JSON object");
    }
    if (!about.options.meta.is_null() && !about.options.meta.is_object()) refuse("meta", "must be a JSON object");
    if (!t.plain && !t.coroutine) refuse("handler", "is empty");
    std::string text;
    if (!json::write(text, about.description)) refuse("description", "is not UTF-8");
    if (!json::write(text, about.options.title)) refuse("title", "is not UTF-8");
    for (auto [field, v] :
         {std::pair("input_schema", &about.input_schema), std::pair("output_schema", &about.output_schema),
          std::pair("annotations", &about.options.annotations), std::pair("meta", &about.options.meta)}) {
        if (!json::write(text, *v)) refuse(field, "cannot be expressed in JSON");
    }
}

}  // namespace keel::server_side
