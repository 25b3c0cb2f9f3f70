#pragma once

// The JSON types that a schema allows, as far as its top level shows.

#include <keel/json.hpp>

#include <string>
#include <string_view>

namespace keel::command {

class type_set {
public:
    enum type : unsigned char { null = 1, boolean = 2, integer = 4, number = 8, string = 16, array = 32, object = 64 };

    void add(type t) noexcept { types_ = static_cast<unsigned char>(types_ | t); }
    void add(type_set more) noexcept { types_ = static_cast<unsigned char>(types_ | more.types_); }
    bool unknown() const noexcept { return types_ == 0; }
    bool has(type t) const noexcept { return (types_ & t) != 0; }
    bool only(type t) const noexcept { return types_ == t; }
    bool allows(const json::value& v) const noexcept;
    /// "number", "string or null"; "" when unknown.
    std::string text() const;

private:
    unsigned char types_ = 0;
};

/// The schema that "#/$defs/color" refers to. Null if there is none, or for other kinds of references.
const json::value* referenced(std::string_view reference, const json::value& root);

/// `root` is the document that references in the schema refer to.
type_set types_of(const json::value& schema, const json::value& root);

}  // namespace keel::command
