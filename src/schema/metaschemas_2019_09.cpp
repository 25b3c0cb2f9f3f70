#include "schema/metaschemas.hpp"

namespace keel::inline KEEL_ABI::validation {

namespace {

#define KEEL_BASE "https://json-schema.org/draft/2019-09/"
#define KEEL_META(name, title)                                                                                        \
    R"({"$schema":"https://json-schema.org/draft/2019-09/schema","$id":"https://json-schema.org/draft/2019-09/)" name \
    R"(","$recursiveAnchor":true,"title":")" title R"(","type":["object","boolean"],)"
#define KEEL_VOCABULARY(name) R"("$vocabulary":{"https://json-schema.org/draft/2019-09/vocab/)" name R"(":true},)"

constexpr std::string_view whole_2019_09 = KEEL_META("schema", "Core and validation") R"(
"$vocabulary":{
 "https://json-schema.org/draft/2019-09/vocab/core":true,
 "https://json-schema.org/draft/2019-09/vocab/applicator":true,
 "https://json-schema.org/draft/2019-09/vocab/validation":true,
 "https://json-schema.org/draft/2019-09/vocab/meta-data":true,
 "https://json-schema.org/draft/2019-09/vocab/format":false,
 "https://json-schema.org/draft/2019-09/vocab/content":true},
"allOf":[{"$ref":"meta/core"},{"$ref":"meta/applicator"},{"$ref":"meta/validation"},{"$ref":"meta/meta-data"},
 {"$ref":"meta/format"},{"$ref":"meta/content"}],
"properties":{
 "definitions":{"type":"object","additionalProperties":{"$recursiveRef":"#"},"default":{}},
 "dependencies":{"type":"object",
  "additionalProperties":{"anyOf":[{"$recursiveRef":"#"},{"$ref":"meta/validation#/$defs/stringArray"}]}}}})";

constexpr std::string_view core_2019_09 = KEEL_META("meta/core", "Core") KEEL_VOCABULARY("core") R"(
"properties":{
 "$id":{"type":"string","format":"uri-reference","pattern":"^[^#]*#?$"},
 "$schema":{"type":"string","format":"uri"},
 "$anchor":{"type":"string","pattern":"^[A-Za-z][-A-Za-z0-9.:_]*$"},
 "$ref":{"type":"string","format":"uri-reference"},
 "$recursiveRef":{"type":"string","format":"uri-reference"},
 "$recursiveAnchor":{"type":"boolean","default":false},
 "$vocabulary":{"type":"object","propertyNames":{"type":"string","format":"uri"},
  "additionalProperties":{"type":"boolean"}},
 "$comment":{"type":"string"},
 "$defs":{"type":"object","additionalProperties":{"$recursiveRef":"#"},"default":{}}}})";

constexpr std::string_view applicator_2019_09 =
    KEEL_META("meta/applicator", "Applicators") KEEL_VOCABULARY("applicator") R"(
"properties":{
 "additionalItems":{"$recursiveRef":"#"},
 "unevaluatedItems":{"$recursiveRef":"#"},
 "items":{"anyOf":[{"$recursiveRef":"#"},{"$ref":"#/$defs/schemaArray"}]},
 "contains":{"$recursiveRef":"#"},
 "additionalProperties":{"$recursiveRef":"#"},
 "unevaluatedProperties":{"$recursiveRef":"#"},
 "properties":{"type":"object","additionalProperties":{"$recursiveRef":"#"},"default":{}},
 "patternProperties":{"type":"object","additionalProperties":{"$recursiveRef":"#"},
  "propertyNames":{"format":"regex"},"default":{}},
 "dependentSchemas":{"type":"object","additionalProperties":{"$recursiveRef":"#"}},
 "propertyNames":{"$recursiveRef":"#"},
 "if":{"$recursiveRef":"#"},"then":{"$recursiveRef":"#"},"else":{"$recursiveRef":"#"},
 "allOf":{"$ref":"#/$defs/schemaArray"},
 "anyOf":{"$ref":"#/$defs/schemaArray"},
 "oneOf":{"$ref":"#/$defs/schemaArray"},
 "not":{"$recursiveRef":"#"}},
"$defs":{"schemaArray":{"type":"array","minItems":1,"items":{"$recursiveRef":"#"}}}})";

constexpr std::string_view assertions_2019_09 =
    KEEL_META("meta/validation", "Validation") KEEL_VOCABULARY("validation") R"(
"properties":{
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
 "dependentRequired":{"type":"object","additionalProperties":{"$ref":"#/$defs/stringArray"}},
 "const":true,
 "enum":{"type":"array","items":true},
 "type":{"anyOf":[{"$ref":"#/$defs/simpleTypes"},
  {"type":"array","items":{"$ref":"#/$defs/simpleTypes"},"minItems":1,"uniqueItems":true}]}},
"$defs":{
 "nonNegativeInteger":{"type":"integer","minimum":0},
 "nonNegativeIntegerDefault0":{"$ref":"#/$defs/nonNegativeInteger","default":0},
 "simpleTypes":{"enum":["array","boolean","integer","null","number","object","string"]},
 "stringArray":{"type":"array","items":{"type":"string"},"uniqueItems":true,"default":[]}}})";

constexpr std::string_view meta_data_2019_09 = KEEL_META("meta/meta-data", "Metadata") KEEL_VOCABULARY("meta-data") R"(
"properties":{"title":{"type":"string"},"description":{"type":"string"},"default":true,
 "deprecated":{"type":"boolean","default":false},"readOnly":{"type":"boolean","default":false},
 "writeOnly":{"type":"boolean","default":false},"examples":{"type":"array","items":true}}})";

constexpr std::string_view format_2019_09 = KEEL_META("meta/format", "Format") KEEL_VOCABULARY("format") R"(
"properties":{"format":{"type":"string"}}})";

constexpr std::string_view content_2019_09 = KEEL_META("meta/content", "Content") KEEL_VOCABULARY("content") R"(
"properties":{"contentMediaType":{"type":"string"},"contentEncoding":{"type":"string"},
 "contentSchema":{"$recursiveRef":"#"}}})";

constexpr metaschema all_2019_09[] = {
    {KEEL_BASE "schema", whole_2019_09},
    {KEEL_BASE "meta/core", core_2019_09},
    {KEEL_BASE "meta/applicator", applicator_2019_09},
    {KEEL_BASE "meta/validation", assertions_2019_09},
    {KEEL_BASE "meta/meta-data", meta_data_2019_09},
    {KEEL_BASE "meta/format", format_2019_09},
    {KEEL_BASE "meta/content", content_2019_09},
};

#undef KEEL_BASE
#undef KEEL_META
#undef KEEL_VOCABULARY

}  // namespace

std::span<const metaschema> metaschemas_2019_09() noexcept { return all_2019_09; }

}  // namespace keel::validation
