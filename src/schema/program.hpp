#pragma once

// A schema made ready: nodes that name each other by index, and per kind of value the rules that can matter to it. Built
// once (compiler.cpp), never changed afterwards, walked by any number of threads (runner.cpp).

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

// One bit per word of "type". A set of them is what a schema allows.
using type_set = std::uint8_t;
namespace types {
inline constexpr type_set null = 1, boolean = 2, integer = 4, number = 8, string = 16, array = 32, object = 64;
inline constexpr type_set any = 127;
}  // namespace types

struct node {
    type_set allowed = types::any;  // 0 is the schema `false`
    bool plain = true;              // there is nothing but the types
    index resource = 0;             // which schema resource it stands in: dynamic references ask
    index values = none;            // const and enum
    index numbers = none;
    index strings = none;
    index arrays = none;
    index objects = none;
    index logic = none;  // references and combinations
    index unevaluated_items = none;
    index unevaluated_properties = none;
};

/// A value that must be equaled, and what comparing with it costs at most.
struct constant {
    json::value content;
    std::size_t weight = 1;
};

struct value_rules {
    std::vector<constant> others;       // what is not a string
    std::vector<std::string> texts;     // the strings, shortest first, then by their bytes
    std::vector<json::value> as_given;  // for messages
    bool only_one = false;              // "const"
};

struct number_rules {
    json::value minimum, maximum, exclusive_minimum, exclusive_maximum;  // null when there is none
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
    std::vector<index> prefix;
    index items = none;
    index contains = none;
    std::size_t min_contains = 1;
    std::size_t max_contains = unlimited;
};

struct property {
    std::string name;
    index schema = none;  // none when it is only required
    bool required = false;
};

/// Properties by name. No names, however chosen, make a search slower than logarithmic.
class property_table {
public:
    property& add(std::string_view name);  // the one of that name, made if need be
    void finish();

    /// `next` is where the one before was found: members usually come in the order of the schema.
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
    std::map<std::string, index, std::less<>> build_;  // until it is finished
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
    std::vector<index> all_of;  // "$ref" is one of them
    std::vector<index> any_of;
    std::vector<index> one_of;
    index not_ = none;
    index if_ = none;
    index then_ = none;
    index else_ = none;
    index dynamic_name = none;    // of a "$dynamicRef" whose target may depend on how we came here
    index dynamic_target = none;  // when nothing we came through says otherwise
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
    std::vector<index> dynamic_anchors;  // [name * resources + resource]: the node of that name there, or none

    std::size_t max_depth = 128;
    std::size_t max_work = 1'000'000;
};

}  // namespace keel::validation
