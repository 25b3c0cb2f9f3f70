#pragma once

// A compiled schema: nodes that refer to each other by index, with separate rules per type of value. Built once
// (compiler.cpp), then immutable, and used by any number of threads (runner.cpp).

#include "schema/formats.hpp"
#include "schema/numbers.hpp"
#include "schema/pattern.hpp"

#include <keel/json.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::validation {

using index = std::uint32_t;
inline constexpr index none = std::numeric_limits<index>::max();
inline constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

// One bit per name in "type".
using type_set = std::uint8_t;
namespace types {
inline constexpr type_set null = 1, boolean = 2, integer = 4, number = 8, string = 16, array = 32, object = 64;
inline constexpr type_set any = 127;
}  // namespace types

struct node {
    type_set allowed = types::any;  // 0: the schema `false`
    bool plain = true;              // only the type is checked
    index resource = 0;             // the enclosing schema resource, for dynamic references
    index values = none;            // const and enum
    index numbers = none;
    index strings = none;
    index arrays = none;
    index objects = none;
    index logic = none;  // references and combinations
    index unevaluated_items = none;
    index unevaluated_properties = none;
};

/// A constant, and the maximum cost of a comparison with it.
struct constant {
    json::value content;
    std::size_t weight = 1;
};

struct value_rules {
    std::vector<constant> others;       // constants that are not strings
    std::vector<std::string> texts;     // strings, by length, then by bytes
    std::vector<json::value> as_given;  // in the order of the schema, for messages
    bool only_one = false;              // "const"
};

struct number_rules {
    json::value minimum, maximum, exclusive_minimum, exclusive_maximum;  // null if missing
    json::value multiple_of;
    decimal multiple_of_decimal;
};

struct string_rules {
    std::size_t min_length = 0;
    std::size_t max_length = unlimited;
    index pattern = none;
    format_check format = nullptr;
    std::string format_name;
};

struct array_rules {
    std::size_t min_items = 0;
    std::size_t max_items = unlimited;
    bool unique = false;
    bool contains_evaluates = true;  // items that match "contains" are evaluated: since 2020-12
    std::vector<index> prefix;
    index items = none;
    index contains = none;
    std::size_t min_contains = 1;
    std::size_t max_contains = unlimited;
};

struct property {
    std::string name;
    index schema = none;  // none: only required
    bool required = false;
};

/// Properties by name. Lookup is at most logarithmic, for any names.
class property_table {
public:
    property& add(std::string_view name);  // finds or creates the property
    void finish();

    /// `next` is the position of the previous match: members usually arrive in schema order.
    const property* find(std::string_view name, std::size_t& next) const noexcept {
        if (next < all_.size() && all_[next].name == name) [[likely]]
            return &all_[next++];
        return search(name, next);
    }
    const std::vector<property>& all() const noexcept { return all_; }
    std::size_t required() const noexcept { return required_; }

private:
    const property* search(std::string_view name, std::size_t& next) const noexcept;

    std::vector<property> all_;
    struct entry {
        std::uint64_t hash;
        index place;
    };
    std::vector<entry> by_hash_;                       // by hash, then name
    std::map<std::string, index, std::less<>> build_;  // used until finish()
    std::size_t required_ = 0;
};

struct pattern_property {
    index pattern;
    index schema;
};

struct dependent_names {
    std::string name;
    std::vector<std::string> needs;
};

struct dependent_schema {
    std::string name;
    index schema;
};

struct object_rules {
    std::size_t min_properties = 0;
    std::size_t max_properties = unlimited;
    property_table properties;
    std::vector<pattern_property> patterns;
    index additional = none;
    index names = none;
    std::vector<dependent_names> dependent_required;
    std::vector<dependent_schema> dependent_schemas;
};

struct logic_rules {
    std::vector<index> all_of;  // includes "$ref"
    std::vector<index> any_of;
    std::vector<index> one_of;
    index not_ = none;
    index if_ = none;
    index then_ = none;
    index else_ = none;
    index dynamic_name = none;    // of a "$dynamicRef" or "$recursiveRef" whose target depends on the dynamic scope
    index dynamic_target = none;  // the target if the dynamic scope has no other
};

struct program {
    index root = 0;
    std::vector<node> nodes;
    std::vector<value_rules> values;
    std::vector<number_rules> numbers;
    std::vector<string_rules> strings;
    std::vector<array_rules> arrays;
    std::vector<object_rules> objects;
    std::vector<logic_rules> logic;
    std::vector<std::unique_ptr<const pattern>> patterns;
    index resources = 0;
    std::vector<index> dynamic_anchors;  // [name * resources + resource]: the node with that name, or none

    std::size_t max_depth = 128;
    std::size_t max_work = 1'000'000;
};

}  // namespace keel::validation
