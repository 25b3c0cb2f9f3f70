#include "schema/schema_documents.hpp"

#include "schema/metaschemas.hpp"
#include "schema/uri.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace keel::inline KEEL_ABI::validation {

namespace {

// The keywords that contain schemas. Other values (in "enum", "default", unknown keywords) are data, unless a reference
// points at them.
constexpr std::array<std::string_view, 11> one_schema{
    "items", "contains", "additionalProperties", "propertyNames",         "if",           "then",
    "else",  "not",      "unevaluatedItems",     "unevaluatedProperties", "contentSchema"};
constexpr std::array<std::string_view, 4> list_of_schemas{"allOf", "anyOf", "oneOf", "prefixItems"};
// "definitions" is of older drafts, but still in use.
constexpr std::array<std::string_view, 5> map_of_schemas{"properties", "patternProperties", "$defs", "dependentSchemas",
                                                         "definitions"};

bool is_one_of(std::string_view key, const auto& names) noexcept {
    return std::find(names.begin(), names.end(), key) != names.end();
}

std::string quoted(std::string_view text) {
    constexpr std::size_t most = 200;
    std::string out;
    if (text.size() > most) {
        std::size_t end = most;
        while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
        return json::write_string(out, std::string(text.substr(0, end)) + "…") ? out : "(invalid UTF-8)";
    }
    return json::write_string(out, text) ? out : "(invalid UTF-8)";
}

std::string found(const json::value& v) { return ", found " + std::string(json::name_of(v.type())); }

bool is_anchor(std::string_view text) noexcept {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    const auto more = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.'; };
    return !text.empty() && letter(text.front()) && std::ranges::all_of(text, more);
}

}  // namespace

std::string pointer_to(std::string_view parent, std::string_view key) {
    std::string out(parent);
    out += '/';
    for (const char c : key) {
        if (c == '~') out += "~0";
        else if (c == '/') out += "~1";
        else out += c;
    }
    return out;
}

std::string pointer_to(std::string_view parent, std::size_t n) { return std::string(parent) + '/' + std::to_string(n); }

struct schema_documents::step {
    const json::value* schema;
    index in;  // the enclosing resource, before the schema's own "$id"
    std::size_t depth;
    std::string where;
};

void schema_documents::add_main(const json::value& document, std::vector<const json::value*>& found) {
    resources_.push_back({.root = &document});
    by_uri_.emplace(std::string(), index{0});
    roots_.emplace(&document, index{0});
    scan(document, 0, {}, &found);
}

void schema_documents::scan(const json::value& root, index in, std::string where,
                            std::vector<const json::value*>* found) {
    // A work list, not recursion: no document can exhaust the stack.
    std::vector<step> waiting;
    waiting.push_back({&root, in, 1, std::move(where)});
    while (!waiting.empty()) {
        step s = std::move(waiting.back());
        waiting.pop_back();
        if (!s.schema->is_object() && !s.schema->is_bool()) {
            std::string why = "expected a schema (an object, true or false)" + validation::found(*s.schema);
            if (s.schema->is_array() && s.where.ends_with("/items")) {
                why += "; JSON Schema 2020-12 uses \"prefixItems\" for the schemas of the first items";
            }
            throw schema_error(s.where, why);
        }
        if (s.depth > options_.max_depth) {
            throw schema_error(
                s.where, "schemas nested too deeply: more than " + std::to_string(options_.max_depth) + " levels");
        }
        if (places_.contains(s.schema)) continue;  // already found through a reference
        if (places_.size() >= options_.max_subschemas) {
            throw schema_error(s.where, "too many schemas: more than " + std::to_string(options_.max_subschemas));
        }
        if (s.schema->is_object()) s.in = enter(s);
        places_.emplace(s.schema, place{s.in, none, s.where});
        if (found) found->push_back(s.schema);
        if (s.schema->is_object()) scan_object(s, waiting);
    }
}

void schema_documents::scan_object(const step& s, std::vector<step>& waiting) {
    const std::size_t first = waiting.size();
    for (const json::member& m : s.schema->members()) {
        const std::string_view key = m.key();
        std::string where = pointer_to(s.where, key);
        if (is_one_of(key, one_schema)) {
            scan_child(m.content, s, std::move(where), waiting);
        } else if (is_one_of(key, list_of_schemas)) {
            if (!m.content.is_array()) throw schema_error(where, "expected an array of schemas" + found(m.content));
            if (m.content.empty()) throw schema_error(where, "expected at least one schema");
            std::size_t i = 0;
            for (const json::value& child : m.content.items()) scan_child(child, s, pointer_to(where, i++), waiting);
        } else if (is_one_of(key, map_of_schemas)) {
            if (!m.content.is_object()) throw schema_error(where, "expected an object of schemas" + found(m.content));
            for (const json::member& child : m.content.members()) {
                scan_child(child.content, s, pointer_to(where, child.key()), waiting);
            }
        }
    }
    // The last element is taken first, so reverse: the first error is reported.
    std::reverse(waiting.begin() + static_cast<std::ptrdiff_t>(first), waiting.end());
}

void schema_documents::scan_child(const json::value& child, const step& parent, std::string where,
                                  std::vector<step>& waiting) {
    waiting.push_back({&child, parent.in, parent.depth + 1, std::move(where)});
}

/// The resource of the schema; a new one if it has an "$id".
index schema_documents::enter(const step& s) {
    const json::value& schema = *s.schema;
    index in = s.in;
    const bool document_root = resources_[in].root == &schema;
    if (const json::value* id = schema.find("$id")) {
        const std::string where = pointer_to(s.where, "$id");
        if (!id->is_string()) throw schema_error(where, "expected a string" + found(*id));
        const std::string full = resolve_uri(resources_[in].uri, id->as_string());
        const auto [uri, fragment] = split_fragment(full);
        if (!fragment.empty()) throw schema_error(where, "\"$id\" must not have a fragment; use \"$anchor\"");
        if (document_root) {
            // Also registered by the URI it was passed in with.
            resources_[in].uri = uri;
            by_uri_.try_emplace(std::string(uri), in);
        } else {
            const vocabularies inherited = resources_[in].speaks;
            in = static_cast<index>(resources_.size());
            if (!by_uri_.try_emplace(std::string(uri), in).second) {
                throw schema_error(where, "duplicate identifier " + quoted(uri));
            }
            resources_.push_back({.uri = std::string(uri), .root = &schema, .speaks = inherited});
            roots_.emplace(&schema, in);
        }
    }
    if (schema.find("$schema")) {
        const vocabularies spoken = speaks(schema, s.where, resources_[in].speaks);
        if (resources_[in].root == &schema) resources_[in].speaks = spoken;
    }
    note_anchor(s, in, "$anchor");
    note_anchor(s, in, "$dynamicAnchor");
    return in;
}

void schema_documents::note_anchor(const step& s, index in, std::string_view keyword) {
    const json::value* name = s.schema->find(keyword);
    if (!name) return;
    const std::string where = pointer_to(s.where, keyword);
    if (!name->is_string()) throw schema_error(where, "expected a string" + found(*name));
    const std::string anchor(name->as_string());
    if (!is_anchor(anchor)) {
        throw schema_error(where, "invalid anchor: expected a letter or _, followed by letters, digits, -, _ or .");
    }
    resource& r = resources_[in];
    const auto [at, is_new] = r.anchors.try_emplace(anchor, s.schema);
    if (!is_new && at->second != s.schema) throw schema_error(where, "duplicate anchor " + quoted(anchor));
    if (keyword == "$dynamicAnchor") r.dynamic_anchors.try_emplace(anchor, s.schema);
}

// ---- dialects ----

vocabularies schema_documents::speaks(const json::value& schema, const std::string& at, vocabularies inherited) const {
    const json::value& named = schema["$schema"];
    const std::string where = pointer_to(at, "$schema");
    if (!named.is_string()) throw schema_error(where, "expected a string" + found(named));
    std::string_view uri = named.as_string();
    if (uri.ends_with('#')) uri.remove_suffix(1);
    if (uri == dialect_2020_12) return vocabularies{};
    const json::value* metaschema = given(uri);
    if (metaschema && metaschema->is_object()) {
        if (metaschema == &schema) return inherited;
        return custom_dialect(*metaschema, where);
    }
    throw schema_error(where, "unsupported dialect " + quoted(named.as_string()) + ": expected JSON Schema 2020-12 (" +
                                  std::string(dialect_2020_12) + ")");
}

vocabularies schema_documents::custom_dialect(const json::value& metaschema, const std::string& where) const {
    // A metaschema of another draft changes the meaning of keywords, whatever vocabularies it lists.
    if (const auto base = metaschema["$schema"].if_string()) {
        std::string_view uri = *base;
        if (uri.ends_with('#')) uri.remove_suffix(1);
        if (uri != dialect_2020_12 && given(uri) != &metaschema) {
            throw schema_error(where, "the metaschema uses the unsupported dialect " + quoted(*base));
        }
    }
    const json::value* listed = metaschema.find("$vocabulary");
    if (!listed) return vocabularies{};
    vocabularies spoken{false, false, false, false};
    for (const json::member& m : listed->members()) {
        constexpr std::string_view base = "https://json-schema.org/draft/2020-12/vocab/";
        const std::string_view name = m.key().starts_with(base) ? m.key().substr(base.size()) : std::string_view();
        if (name == "applicator") spoken.applicator = true;
        else if (name == "unevaluated") spoken.unevaluated = true;
        else if (name == "validation") spoken.validation = true;
        else if (name == "format-assertion") spoken.format_assertion = true;
        else if (name != "core" && name != "meta-data" && name != "format-annotation" && name != "content" &&
                 m.content.if_bool() == true) {
            throw schema_error(where, "unsupported required vocabulary " + quoted(m.key()));
        }
    }
    return spoken;
}

// ---- references ----

const json::value* schema_documents::given(std::string_view uri) const noexcept {
    for (const auto& [name, document] : options_.documents) {
        if (name == uri) return &document;
    }
    return nullptr;
}

index schema_documents::find_resource(const std::string& uri, const std::string& where, std::string_view reference) {
    if (const auto known = by_uri_.find(uri); known != by_uri_.end()) return known->second;
    const json::value* document = given(uri);
    if (!document) {
        const auto text = find_metaschema(uri);
        if (!text) {
            std::string why = "unresolved reference " + quoted(uri);
            if (uri != reference) why += " (written " + quoted(reference) + ")";
            throw schema_error(where,
                               why + ": the document is not in schema_options::documents, and nothing is fetched");
        }
        document = &own_.emplace_back(json::parse(*text));
    }
    const auto in = static_cast<index>(resources_.size());
    resources_.push_back({.uri = uri, .root = document});
    by_uri_.emplace(uri, in);
    roots_.emplace(document, in);
    scan(*document, in, uri + '#', nullptr);
    return in;
}

const json::value& schema_documents::walk(index in, std::string_view pointer, const std::string& where,
                                          std::string_view reference) {
    const json::value* at = resources_[in].root;
    std::string shown = this->at(*at).where;
    while (!pointer.empty()) {
        pointer.remove_prefix(1);  // the '/'
        const std::string_view raw = pointer.substr(0, pointer.find('/'));
        pointer.remove_prefix(raw.size());
        std::string key;
        for (std::size_t i = 0; i != raw.size(); ++i) {
            if (raw[i] == '~' && i + 1 != raw.size() && (raw[i + 1] == '0' || raw[i + 1] == '1')) {
                key += raw[++i] == '0' ? '~' : '/';
            } else {
                key += raw[i];
            }
        }
        const json::value* next = nullptr;
        if (at->is_array()) {
            std::size_t n = 0;
            const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), n);
            const bool canonical =
                error == std::errc() && end == key.data() + key.size() && (key == "0" || key[0] != '0');
            if (canonical && n < at->size()) next = &at->items()[n];
        } else {
            next = at->find(key);
        }
        if (!next) throw schema_error(where, "unresolved reference " + quoted(reference) + ": no such location");
        at = next;
        shown = pointer_to(shown, key);
        if (const auto root = roots_.find(at); root != roots_.end()) in = root->second;
    }
    // A reference may point at a value outside the known keywords: treat it as a schema.
    if (!places_.contains(at)) scan(*at, in, shown, nullptr);
    return *at;
}

const json::value& schema_documents::resolve(const place& from, std::string_view reference, std::string_view keyword) {
    const std::string where = pointer_to(from.where, keyword);
    const std::string full = resolve_uri(resources_[from.resource].uri, reference);
    const auto halves = split_fragment(full);
    const index in = find_resource(std::string(halves.document), where, reference);
    const std::string fragment = percent_decoded(halves.fragment);
    if (fragment.empty() || fragment.starts_with('/')) return walk(in, fragment, where, reference);
    const resource& r = resources_[in];
    const auto anchor = r.anchors.find(fragment);
    if (anchor == r.anchors.end()) {
        throw schema_error(where, "unresolved reference " + quoted(reference) + ": unknown anchor");
    }
    return *anchor->second;
}

}  // namespace keel::validation
