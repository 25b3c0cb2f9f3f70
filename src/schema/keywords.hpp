#pragma once

// Reads the keywords of one schema that have a meaning in its dialect. Errors contain the JSON pointer of the keyword.

#include "schema/schema_documents.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::validation {

class keywords {
public:
    keywords(const json::value& schema, const place& at) : schema_(schema), at_(at) {}

    const json::value* find(std::string_view keyword) const noexcept { return at_.speaks.find(schema_, keyword); }
    bool contains(std::string_view keyword) const noexcept { return find(keyword) != nullptr; }
    std::string where(std::string_view keyword) const { return pointer_to(at_.where, keyword); }
    [[noreturn]] void fail(std::string_view keyword, const std::string& why) const;
    [[noreturn]] void expected(std::string_view keyword, std::string_view what) const;

    // Each reads the value of a keyword, if it is present.
    void count(std::string_view keyword, std::size_t& into) const;
    void number(std::string_view keyword, json::value& into) const;
    bool flag(std::string_view keyword) const;  // false if missing
    const json::value* text(std::string_view keyword) const;
    const json::value* list(std::string_view keyword) const;
    const json::value* object(std::string_view keyword) const;

    // The content of an array or object; empty if the keyword is missing or has another type.
    std::span<const json::value> items(std::string_view keyword) const noexcept;
    std::span<const json::member> members(std::string_view keyword) const noexcept;

    /// An array of unique strings.
    std::vector<std::string> names(const json::value& list, const std::string& where) const;

    /// Annotations are validated too.
    void check_annotations() const;

private:
    const json::value& schema_;
    const place& at_;
};

type_set read_types(const keywords&);
value_rules read_values(const keywords&);
number_rules read_numbers(const keywords&);

}  // namespace keel::validation
