#include "schema/metaschemas.hpp"

namespace keel::inline KEEL_ABI::validation {

namespace {

#define KEEL_BASE "https://json-schema.org/draft/2020-12/"
#define KEEL_META(name, title)                                                                                        \
    R"({"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://json-schema.org/draft/2020-12/)" name \
    R"(","$dynamicAnchor":"meta","title":")" title R"(","type":["object","boolean"],)"
#define KEEL_VOCABULARY(name) R"("$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/)" name R"(":true},)"

constexpr std::string_view whole = KEEL_META("schema", "Core and validation") R"(
"$vocabulary":{
 "https://json-schema.org/draft/2020-12/vocab/core":true,
 "https://json-schema.org/draft/2020-12/vocab/applicator":true,
 "https://json-schema.org/draft/2020-12/vocab/unevaluated":true,
 "https://json-schema.org/draft/2020-12/vocab/validation":true,
 "https://json-schema.org/draft/2020-12/vocab/meta-data":true,
 "https://json-schema.org/draft/2020-12/vocab/format-annotation":true,
 "https://json-schema.org/draft/2020-12/vocab/content":true},
"allOf":[{"$ref":"meta/core"},{"$ref":"meta/applicator"},{"$ref":"meta/unevaluated"},{"$ref":"meta/validation"},
 {"$ref":"meta/meta-data"},{"$ref":"meta/format-annotation"},{"$ref":"meta/content"}],
"properties":{
 "definitions":{"type":"object","additionalProperties":{"$dynamicRef":"#meta"},"deprecated":true,"default":{}},
 "dependencies":{"type":"object","deprecated":true,"default":{},
  "additionalProperties":{"anyOf":[{"$dynamicRef":"#meta"},{"$ref":"meta/validation#/$defs/stringArray"}]}},
 "$recursiveAnchor":{"$ref":"meta/core#/$defs/anchorString","deprecated":true},
 "$recursiveRef":{"$ref":"meta/core#/$defs/uriReferenceString","deprecated":true}}})";

constexpr std::string_view core = KEEL_META("meta/core", "Core") KEEL_VOCABULARY("core") R"(
"properties":{
 "$id":{"$ref":"#/$defs/uriReferenceString","pattern":"^[^#]*#?$"},
 "$schema":{"$ref":"#/$defs/uriString"},
 "$ref":{"$ref":"#/$defs/uriReferenceString"},
 "$anchor":{"$ref":"#/$defs/anchorString"},
 "$dynamicRef":{"$ref":"#/$defs/uriReferenceString"},
 "$dynamicAnchor":{"$ref":"#/$defs/anchorString"},
 "$vocabulary":{"type":"object","propertyNames":{"$ref":"#/$defs/uriString"},"additionalProperties":{"type":"boolean"}},
 "$comment":{"type":"string"},
 "$defs":{"type":"object","additionalProperties":{"$dynamicRef":"#meta"}}},
"$defs":{
 "anchorString":{"type":"string","pattern":"^[A-Za-z_][-A-Za-z0-9._]*$"},
 "uriString":{"type":"string","format":"uri"},
 "uriReferenceString":{"type":"string","format":"uri-reference"}}})";

constexpr std::string_view applicator = KEEL_META("meta/applicator", "Applicators") KEEL_VOCABULARY("applicator") R"(
"properties":{
 "prefixItems":{"$ref":"#/$defs/schemaArray"},
 "items":{"$dynamicRef":"#meta"},
 "contains":{"$dynamicRef":"#meta"},
 "additionalProperties":{"$dynamicRef":"#meta"},
 "properties":{"type":"object","additionalProperties":{"$dynamicRef":"#meta"},"default":{}},
 "patternProperties":{"type":"object","additionalProperties":{"$dynamicRef":"#meta"},
  "propertyNames":{"format":"regex"},"default":{}},
 "dependentSchemas":{"type":"object","additionalProperties":{"$dynamicRef":"#meta"},"default":{}},
 "propertyNames":{"$dynamicRef":"#meta"},
 "if":{"$dynamicRef":"#meta"},"then":{"$dynamicRef":"#meta"},"else":{"$dynamicRef":"#meta"},
 "allOf":{"$ref":"#/$defs/schemaArray"},
 "anyOf":{"$ref":"#/$defs/schemaArray"},
 "oneOf":{"$ref":"#/$defs/schemaArray"},
 "not":{"$dynamicRef":"#meta"}},
"$defs":{"schemaArray":{"type":"array","minItems":1,"items":{"$dynamicRef":"#meta"}}}})";

constexpr std::string_view unevaluated = KEEL_META("meta/unevaluated", "Unevaluated") KEEL_VOCABULARY("unevaluated") R"(
"properties":{"unevaluatedItems":{"$dynamicRef":"#meta"},"unevaluatedProperties":{"$dynamicRef":"#meta"}}})";

constexpr std::string_view assertions = KEEL_META("meta/validation", "Validation") KEEL_VOCABULARY("validation") R"(
"properties":{
 "type":{"anyOf":[{"$ref":"#/$defs/simpleTypes"},
  {"type":"array","items":{"$ref":"#/$defs/simpleTypes"},"minItems":1,"uniqueItems":true}]},
 "const":true,
 "enum":{"type":"array","items":true},
 "multipleOf":{"type":"number","exclusiveMinimum":0},
 "maximum":{"type":"number"},"exclusiveMaximum":{"type":"number"},
 "minimum":{"type":"number"},"exclusiveMinimum":{"type":"number"},
 "maxLength":{"$ref":"#/$defs/nonNegativeInteger"},"minLength":{"$ref":"#/$defs/nonNegativeIntegerDefault0"},
 "pattern":{"type":"string","format":"regex"},
 "maxItems":{"$ref":"#/$defs/nonNegativeInteger"},"minItems":{"$ref":"#/$defs/nonNegativeIntegerDefault0"},
 "uniqueItems":{"type":"boolean","default":false},
 "maxContains":{"$ref":"#/$defs/nonNegativeInteger"},
 "minContains":{"$ref":"#/$defs/nonNegativeInteger","default":1},
 "maxProperties":{"$ref":"#/$defs/nonNegativeInteger"},"minProperties":{"$ref":"#/$defs/nonNegativeIntegerDefault0"},
 "required":{"$ref":"#/$defs/stringArray"},
 "dependentRequired":{"type":"object","additionalProperties":{"$ref":"#/$defs/stringArray"}}},
"$defs":{
 "nonNegativeInteger":{"type":"integer","minimum":0},
 "nonNegativeIntegerDefault0":{"$ref":"#/$defs/nonNegativeInteger","default":0},
 "simpleTypes":{"enum":["array","boolean","integer","null","number","object","string"]},
 "stringArray":{"type":"array","items":{"type":"string"},"uniqueItems":true,"default":[]}}})";

constexpr std::string_view meta_data = KEEL_META("meta/meta-data", "Metadata") KEEL_VOCABULARY("meta-data") R"(
"properties":{"title":{"type":"string"},"description":{"type":"string"},"default":true,
 "deprecated":{"type":"boolean","default":false},"readOnly":{"type":"boolean","default":false},
 "writeOnly":{"type":"boolean","default":false},"examples":{"type":"array","items":true}}})";

constexpr std::string_view format_annotation =
    KEEL_META("meta/format-annotation", "Format as annotation") KEEL_VOCABULARY("format-annotation") R"(
"properties":{"format":{"type":"string"}}})";

constexpr std::string_view format_assertion =
    KEEL_META("meta/format-assertion", "Format as assertion") KEEL_VOCABULARY("format-assertion") R"(
"properties":{"format":{"type":"string"}}})";

constexpr std::string_view content = KEEL_META("meta/content", "Content") KEEL_VOCABULARY("content") R"(
"properties":{"contentEncoding":{"type":"string"},"contentMediaType":{"type":"string"},
 "contentSchema":{"$dynamicRef":"#meta"}}})";

constexpr metaschema all_2020_12[] = {
    {KEEL_BASE "schema", whole},
    {KEEL_BASE "meta/core", core},
    {KEEL_BASE "meta/applicator", applicator},
    {KEEL_BASE "meta/unevaluated", unevaluated},
    {KEEL_BASE "meta/validation", assertions},
    {KEEL_BASE "meta/meta-data", meta_data},
    {KEEL_BASE "meta/format-annotation", format_annotation},
    {KEEL_BASE "meta/format-assertion", format_assertion},
    {KEEL_BASE "meta/content", content},
};

#undef KEEL_BASE
#undef KEEL_META
#undef KEEL_VOCABULARY

}  // namespace

std::span<const metaschema> metaschemas_2020_12() noexcept { return all_2020_12; }

}  // namespace keel::validation
