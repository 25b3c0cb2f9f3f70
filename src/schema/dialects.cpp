#include "schema/dialects.hpp"

#include <algorithm>

namespace keel::inline KEEL_ABI::validation {

// Named, because other files have a "core", too.
namespace dialect_tables {
namespace {

using draft_set = std::uint8_t;
constexpr draft_set bit(draft d) noexcept { return static_cast<draft_set>(d); }
constexpr draft_set draft_07 = bit(draft::draft_07);
constexpr draft_set only_2019_09 = bit(draft::draft_2019_09);
constexpr draft_set only_2020_12 = bit(draft::draft_2020_12);
constexpr draft_set until_2019_09 = draft_07 | only_2019_09;
constexpr draft_set since_2019_09 = only_2019_09 | only_2020_12;
constexpr draft_set every_draft = until_2019_09 | only_2020_12;

// Bits of a set of vocabularies. Annotations belong to `core`: they are validated in every schema.
constexpr std::uint8_t core = 1, applicator = 2, unevaluated = 4, assertion = 8, format_assertion = 16;

struct known_keyword {
    std::string_view name;
    draft_set drafts;
    std::uint8_t vocabulary;
    keyword_content content = keyword_content::data;
    bool beside_ref = false;  // keeps its meaning beside "$ref" in draft-07
};

using enum keyword_content;
constexpr known_keyword known_keywords[] = {
    {"$id", every_draft, core},
    {"$ref", every_draft, core, data, true},
    // Only a place for schemas: references to them work also in a schema that is itself a reference.
    {"definitions", every_draft, core, map_of_schemas, true},
    {"$defs", since_2019_09, core, map_of_schemas},
    {"$anchor", since_2019_09, core},
    {"$recursiveRef", only_2019_09, core},
    {"$recursiveAnchor", only_2019_09, core},
    {"$dynamicRef", only_2020_12, core},
    {"$dynamicAnchor", only_2020_12, core},
    {"$vocabulary", since_2019_09, core},
    {"$comment", every_draft, core},

    {"title", every_draft, core},
    {"description", every_draft, core},
    {"examples", every_draft, core},
    {"deprecated", since_2019_09, core},
    {"readOnly", every_draft, core},
    {"writeOnly", every_draft, core},
    {"format", every_draft, core},
    {"contentEncoding", every_draft, core},
    {"contentMediaType", every_draft, core},
    {"contentSchema", since_2019_09, core, one_schema},

    {"properties", every_draft, applicator, map_of_schemas},
    {"patternProperties", every_draft, applicator, map_of_schemas},
    {"additionalProperties", every_draft, applicator, one_schema},
    {"propertyNames", every_draft, applicator, one_schema},
    {"dependencies", draft_07, applicator, dependencies},
    {"dependentSchemas", since_2019_09, applicator, map_of_schemas},
    {"items", until_2019_09, applicator, schema_or_list},
    {"items", only_2020_12, applicator, one_schema},
    {"additionalItems", until_2019_09, applicator, one_schema},
    {"prefixItems", only_2020_12, applicator, list_of_schemas},
    {"contains", every_draft, applicator, one_schema},
    {"allOf", every_draft, applicator, list_of_schemas},
    {"anyOf", every_draft, applicator, list_of_schemas},
    {"oneOf", every_draft, applicator, list_of_schemas},
    {"not", every_draft, applicator, one_schema},
    {"if", every_draft, applicator, one_schema},
    {"then", every_draft, applicator, one_schema},
    {"else", every_draft, applicator, one_schema},
    {"unevaluatedItems", only_2019_09, applicator, one_schema},
    {"unevaluatedItems", only_2020_12, unevaluated, one_schema},
    {"unevaluatedProperties", only_2019_09, applicator, one_schema},
    {"unevaluatedProperties", only_2020_12, unevaluated, one_schema},

    {"type", every_draft, assertion},
    {"const", every_draft, assertion},
    {"enum", every_draft, assertion},
    {"multipleOf", every_draft, assertion},
    {"minimum", every_draft, assertion},
    {"maximum", every_draft, assertion},
    {"exclusiveMinimum", every_draft, assertion},
    {"exclusiveMaximum", every_draft, assertion},
    {"minLength", every_draft, assertion},
    {"maxLength", every_draft, assertion},
    {"pattern", every_draft, assertion},
    {"minItems", every_draft, assertion},
    {"maxItems", every_draft, assertion},
    {"uniqueItems", every_draft, assertion},
    {"minContains", since_2019_09, assertion},
    {"maxContains", since_2019_09, assertion},
    {"minProperties", every_draft, assertion},
    {"maxProperties", every_draft, assertion},
    {"required", every_draft, assertion},
    {"dependentRequired", since_2019_09, assertion},
};

struct known_vocabulary {
    std::string_view name;
    draft_set drafts;
    std::uint8_t bits;
    bool if_required = false;  // has no effect if "$vocabulary" says false
};
constexpr known_vocabulary known_vocabularies[] = {
    {"core", since_2019_09, core},
    {"applicator", since_2019_09, applicator},
    {"unevaluated", only_2020_12, unevaluated},
    {"validation", since_2019_09, assertion},
    {"meta-data", since_2019_09, core},
    {"content", since_2019_09, core},
    {"format", only_2019_09, format_assertion, true},
    {"format-annotation", only_2020_12, core},
    {"format-assertion", only_2020_12, format_assertion},
};

struct known_draft {
    draft base;
    std::string_view name;
    std::string_view uri;           // without a trailing '#'
    std::string_view vocabularies;  // the URI of a vocabulary without its name; empty if there are no vocabularies
};
constexpr known_draft known_drafts[] = {
    {draft::draft_2020_12, "2020-12", "https://json-schema.org/draft/2020-12/schema",
     "https://json-schema.org/draft/2020-12/vocab/"},
    {draft::draft_2019_09, "2019-09", "https://json-schema.org/draft/2019-09/schema",
     "https://json-schema.org/draft/2019-09/vocab/"},
    {draft::draft_07, "draft-07", "http://json-schema.org/draft-07/schema", ""},
};

const known_keyword* find_keyword(std::string_view name, draft base, std::uint8_t vocabularies) noexcept {
    for (const known_keyword& k : known_keywords) {
        if (k.name == name && (k.drafts & bit(base)) && (k.vocabulary & vocabularies)) return &k;
    }
    return nullptr;
}

/// "$ref" replaces its siblings until draft-07, except for those that only hold other schemas.
bool is_ignored(const known_keyword& k, const json::value& schema, draft base) noexcept {
    return base == draft::draft_07 && !k.beside_ref && schema.contains("$ref");
}

}  // namespace
}  // namespace dialect_tables

namespace tables = dialect_tables;

std::optional<dialect> dialect::named(std::string_view uri) noexcept {
    static_assert(standard_vocabularies ==
                  (tables::core | tables::applicator | tables::unevaluated | tables::assertion));
    if (uri.ends_with('#')) uri.remove_suffix(1);
    const auto at = std::ranges::find(tables::known_drafts, uri, &tables::known_draft::uri);
    if (at == std::end(tables::known_drafts)) return std::nullopt;
    return dialect(at->base, standard_vocabularies);
}

std::string dialect::supported() {
    std::string out = "JSON Schema ";
    for (const tables::known_draft& d : tables::known_drafts) {
        if (&d != tables::known_drafts) out += &d == std::end(tables::known_drafts) - 1 ? " or " : ", ";
        out.append(d.name).append(" (").append(d.uri).append(")");
    }
    return out;
}

std::optional<dialect> dialect::with_vocabularies(const json::value& metaschema, std::string_view& unsupported) const {
    const json::value* listed = find(metaschema, "$vocabulary");
    if (!listed) return *this;
    const auto at = std::ranges::find(tables::known_drafts, base_, &tables::known_draft::base);
    std::uint8_t active = tables::core;
    for (const json::member& m : listed->members()) {
        const bool required = m.content.if_bool() == true;
        const std::string_view name =
            m.key().starts_with(at->vocabularies) ? m.key().substr(at->vocabularies.size()) : std::string_view();
        const auto known = std::ranges::find_if(tables::known_vocabularies, [&](const tables::known_vocabulary& v) {
            return v.name == name && (v.drafts & tables::bit(base_));
        });
        if (known != std::end(tables::known_vocabularies)) {
            if (required || !known->if_required) active |= known->bits;
        } else if (required) {
            unsupported = m.key();
            return std::nullopt;
        }
    }
    return dialect(base_, active);
}

bool dialect::asserts_formats() const noexcept { return (vocabularies_ & tables::format_assertion) != 0; }

const json::value* dialect::find(const json::value& schema, std::string_view keyword) const noexcept {
    const json::value* v = schema.find(keyword);
    if (!v) return nullptr;
    const tables::known_keyword* k = tables::find_keyword(keyword, base_, vocabularies_);
    return k && !tables::is_ignored(*k, schema, base_) ? v : nullptr;
}

keyword_content dialect::content_of(const json::value& schema, std::string_view keyword) const noexcept {
    const tables::known_keyword* k = tables::find_keyword(keyword, base_, vocabularies_);
    return k && !tables::is_ignored(*k, schema, base_) ? k->content : keyword_content::data;
}

}  // namespace keel::validation
