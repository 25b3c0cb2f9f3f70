#pragma once

// The supported dialects of JSON Schema: the keywords that each knows, and what they contain. Everything that differs
// between dialects is decided here and in the compiler; a compiled program has no dialect.

#include <keel/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::validation {

enum class draft : std::uint8_t { draft_07 = 1, draft_2019_09 = 2, draft_2020_12 = 4 };  // bits of a draft_set

/// What the value of a keyword contains.
enum class keyword_content : std::uint8_t {
    data,
    one_schema,
    list_of_schemas,
    map_of_schemas,
    schema_or_list,  // "items" before 2020-12
    dependencies,    // a map of schemas and arrays of names
};

/// A draft with the active vocabularies. Default: 2020-12 with its standard vocabularies.
class dialect {
public:
    dialect() noexcept = default;

    /// The dialect with this URI in "$schema". A trailing '#' is ignored.
    static std::optional<dialect> named(std::string_view uri) noexcept;
    /// The URIs of all supported dialects, for messages.
    static std::string supported();

    /// The same draft with the vocabularies of a metaschema. Returns nullopt, with the name of the vocabulary in
    /// `unsupported`, if a required vocabulary is unknown.
    std::optional<dialect> with_vocabularies(const json::value& metaschema, std::string_view& unsupported) const;

    draft base() const noexcept { return base_; }
    bool asserts_formats() const noexcept;

    /// The value of a keyword. Null if the keyword is missing or has no meaning here: other dialect, inactive
    /// vocabulary, or a sibling of "$ref" in draft-07.
    const json::value* find(const json::value& schema, std::string_view keyword) const noexcept;
    /// What a keyword of `schema` contains. `data` if the keyword has no meaning here.
    keyword_content content_of(const json::value& schema, std::string_view keyword) const noexcept;

private:
    dialect(draft base, std::uint8_t vocabularies) noexcept : base_(base), vocabularies_(vocabularies) {}

    static constexpr std::uint8_t standard_vocabularies = 0b1111;  // see dialects.cpp

    draft base_ = draft::draft_2020_12;
    std::uint8_t vocabularies_ = standard_vocabularies;
};

}  // namespace keel::validation
