#include "schema/schema_documents.hpp"

#include "schema/metaschemas.hpp"
#include "schema/uri.hpp"

#include <algorithm>
#include <charconv>

namespace keel::inline KEEL_ABI::validation {

namespace {

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

/// 2020-12 allows names to start with '_'; earlier drafts allow ':'.
bool is_anchor(std::string_view text, draft base) noexcept {
    const bool old = base != draft::draft_2020_12;
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const auto more = [&](char c) {
        return letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || (old && c == ':');
    };
    return !text.empty() && (letter(text.front()) || (!old && text.front() == '_')) && std::ranges::all_of(text, more);
}

const char* anchor_syntax(draft base) noexcept {
    return base == draft::draft_2020_12 ? "expected a letter or _, followed by letters, digits, -, _ or ."
                                        : "expected a letter, followed by letters, digits, -, _, : or .";
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
    index in;        // the enclosing resource, before the schema's own "$id"
    dialect speaks;  // of the enclosing schema, before the schema's own "$schema"
    std::size_t depth;
    std::string where;
};

void schema_documents::add_main(const json::value& document, std::vector<const json::value*>& found) {
    resources_.push_back({.root = &document});
    by_uri_.emplace(std::string(), index{0});
    scan({&document, 0, {}, 1, {}}, &found);
    main_dialect_ = at(document).speaks;
}

void schema_documents::scan(step first, std::vector<const json::value*>* found) {
    // A work list, not recursion: no document can exhaust the stack.
    std::vector<step> waiting;
    waiting.push_back(std::move(first));
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
        if (s.schema->is_object()) enter(s);
        places_.emplace(s.schema, place{s.in, none, s.speaks, s.where});
        if (found) found->push_back(s.schema);
        if (s.schema->is_object()) scan_object(s, waiting);
    }
}

void schema_documents::scan_object(const step& s, std::vector<step>& waiting) {
    const std::size_t first = waiting.size();
    for (const json::member& m : s.schema->members()) scan_keyword(s, m, waiting);
    // The last element is taken first, so reverse: the first error is reported.
    std::reverse(waiting.begin() + static_cast<std::ptrdiff_t>(first), waiting.end());
}

// Only keywords contain schemas. Other values (in "enum", "default", unknown keywords) are data, unless a reference
// points at them.
void schema_documents::scan_keyword(const step& s, const json::member& m, std::vector<step>& waiting) {
    const keyword_content holds = s.speaks.content_of(*s.schema, m.key());
    if (holds == keyword_content::data) return;
    std::string where = pointer_to(s.where, m.key());
    const auto child = [&](const json::value& schema, std::string at) {
        waiting.push_back({&schema, s.in, s.speaks, s.depth + 1, std::move(at)});
    };
    const auto list = [&] {
        std::size_t i = 0;
        for (const json::value& schema : m.content.items()) child(schema, pointer_to(where, i++));
    };
    switch (holds) {
        case keyword_content::data: break;
        case keyword_content::one_schema: child(m.content, std::move(where)); break;
        case keyword_content::schema_or_list:
            if (m.content.is_array()) list();
            else child(m.content, std::move(where));
            break;
        case keyword_content::list_of_schemas:
            if (!m.content.is_array()) throw schema_error(where, "expected an array of schemas" + found(m.content));
            if (m.content.empty()) throw schema_error(where, "expected at least one schema");
            list();
            break;
        case keyword_content::map_of_schemas:
        case keyword_content::dependencies:
            if (!m.content.is_object()) throw schema_error(where, "expected an object of schemas" + found(m.content));
            for (const json::member& entry : m.content.members()) {
                const bool names = holds == keyword_content::dependencies && entry.content.is_array();
                if (!names) child(entry.content, pointer_to(where, entry.key()));
            }
            break;
    }
}

/// Determines the dialect and the resource of a schema, and notes its names.
void schema_documents::enter(step& s) {
    const json::value& schema = *s.schema;
    // Also without "$id": generators embed complete schemas with their "$schema".
    if (const json::value* named = schema.find("$schema")) s.speaks = declared_dialect(s, *named);
    if (const json::value* id = s.speaks.find(schema, "$id")) identify(s, *id);
    for (const std::string_view keyword : {"$anchor", "$dynamicAnchor"}) {
        if (const json::value* name = s.speaks.find(schema, keyword)) note_anchor(s, keyword, *name);
    }
    if (const json::value* recursive = s.speaks.find(schema, "$recursiveAnchor")) {
        if (!recursive->is_bool()) {
            throw schema_error(pointer_to(s.where, "$recursiveAnchor"), "expected true or false" + found(*recursive));
        }
        resource& r = resources_[s.in];
        if (recursive->if_bool() == true && r.root == &schema) r.dynamic_anchors.emplace(recursive_anchor, &schema);
    }
}

/// A new resource, or in draft-07 the name of a subschema.
void schema_documents::identify(step& s, const json::value& id) {
    const std::string where = pointer_to(s.where, "$id");
    if (!id.is_string()) throw schema_error(where, "expected a string" + found(id));
    resource& enclosing = resources_[s.in];
    const std::string full = resolve_uri(enclosing.uri, id.as_string());
    const auto [uri, fragment] = split_fragment(full);
    if (!fragment.empty()) {
        if (s.speaks.base() != draft::draft_07)
            throw schema_error(where, "\"$id\" must not have a fragment; use \"$anchor\"");
        if (uri != enclosing.uri) throw schema_error(where, "\"$id\" must not have both a URI and a fragment");
        // Some generators write the location of the schema here. A pointer is found without a name.
        if (!fragment.starts_with('/')) add_anchor(s, where, fragment);
        return;
    }
    if (enclosing.root == s.schema) {
        // Also registered by the URI it was passed in with.
        enclosing.uri = uri;
        by_uri_.try_emplace(std::string(uri), s.in);
        return;
    }
    s.in = static_cast<index>(resources_.size());
    if (!by_uri_.try_emplace(std::string(uri), s.in).second) {
        throw schema_error(where, "duplicate identifier " + quoted(uri));
    }
    resources_.push_back({.uri = std::string(uri), .root = s.schema});
}

void schema_documents::note_anchor(const step& s, std::string_view keyword, const json::value& name) {
    const std::string where = pointer_to(s.where, keyword);
    if (!name.is_string()) throw schema_error(where, "expected a string" + found(name));
    add_anchor(s, where, name.as_string());
    if (keyword == "$dynamicAnchor")
        resources_[s.in].dynamic_anchors.try_emplace(std::string(name.as_string()), s.schema);
}

void schema_documents::add_anchor(const step& s, const std::string& where, std::string_view name) {
    if (!is_anchor(name, s.speaks.base())) {
        throw schema_error(where, std::string("invalid anchor: ") + anchor_syntax(s.speaks.base()));
    }
    const auto [at, is_new] = resources_[s.in].anchors.try_emplace(std::string(name), s.schema);
    if (!is_new && at->second != s.schema) throw schema_error(where, "duplicate anchor " + quoted(name));
}

// ---- dialects ----

dialect schema_documents::declared_dialect(const step& s, const json::value& named) const {
    const std::string where = pointer_to(s.where, "$schema");
    if (!named.is_string()) throw schema_error(where, "expected a string" + found(named));
    std::string_view uri = named.as_string();
    if (const auto known = dialect::named(uri)) return *known;
    if (uri.ends_with('#')) uri.remove_suffix(1);
    const json::value* metaschema = given(uri);
    if (metaschema && metaschema->is_object()) {
        if (metaschema == s.schema) return s.speaks;
        return custom_dialect(*metaschema, where);
    }
    throw schema_error(where,
                       "unsupported dialect " + quoted(named.as_string()) + ": expected " + dialect::supported());
}

dialect schema_documents::custom_dialect(const json::value& metaschema, const std::string& where) const {
    dialect base;
    if (const auto named = metaschema["$schema"].if_string()) {
        const std::string_view uri = named->ends_with('#') ? named->substr(0, named->size() - 1) : *named;
        const auto known = dialect::named(uri);
        if (!known && given(uri) != &metaschema) {
            throw schema_error(where, "the metaschema uses the unsupported dialect " + quoted(*named) + ": expected " +
                                          dialect::supported());
        }
        base = known.value_or(base);
    }
    std::string_view unsupported;
    const auto custom = base.with_vocabularies(metaschema, unsupported);
    if (!custom) throw schema_error(where, "unsupported required vocabulary " + quoted(unsupported));
    return *custom;
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
    scan({document, in, main_dialect_, 1, uri + '#'}, nullptr);
    return in;
}

const json::value& schema_documents::walk(index in, std::string_view pointer, const std::string& where,
                                          std::string_view reference) {
    const json::value* at = resources_[in].root;
    const place* enclosing = &this->at(*at);
    std::string shown = enclosing->where;
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
        if (const auto known = places_.find(at); known != places_.end()) enclosing = &known->second;
    }
    // A reference may point at a value outside the known keywords: treat it as a schema.
    if (!places_.contains(at)) scan({at, enclosing->resource, enclosing->speaks, 1, shown}, nullptr);
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
