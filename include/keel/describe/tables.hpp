#pragma once

// Tables that describe types to the code in src/describe, which accesses objects through void pointers.

#include <keel/decode_error.hpp>
#include <keel/json.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI {

namespace detail {

enum class shape : std::uint8_t {
    null,
    boolean,
    integer,
    real,
    string,
    enumeration,
    nullable,  // std::optional, std::unique_ptr
    list,      // std::vector
    bits,      // std::vector<bool>, whose elements have no address
    array,     // std::array
    map,
    set,  // std::set, std::unordered_set
    variant,
    any,     // json::value
    object,  // a described struct
    self,    // a type with functions of its own: keel_encode and keel_decode, or a codec
};

struct struct_table;
struct enum_table;

struct nullable_ops {
    void* (*content)(void*) noexcept;  // nullptr if empty
    void* (*emplace)(void*);
    void (*reset)(void*) noexcept;
};

struct element_range {
    void* first;
    std::size_t count;
};

struct list_ops {
    element_range (*elements)(void*) noexcept;
    void (*start)(void*, std::size_t expected);  // clears the list and reserves memory
    void* (*append)(void*);
};

struct bits_ops {
    std::size_t (*count)(const void*) noexcept;
    bool (*test)(const void*, std::size_t) noexcept;
    void (*resize)(void*, std::size_t);
    void (*assign)(void*, std::size_t, bool) noexcept;
};

struct map_ops {
    using visitor = bool (*)(void* context, std::string_view key, const void* content);
    bool (*each)(const void*, void* context, visitor);  // stops at the first false
    void (*clear)(void*) noexcept;
    void* (*insert)(void*, std::string_view key);
};

struct set_ops {
    using visitor = bool (*)(void* context, const void* element);
    using filler = bool (*)(void* context, void* element);
    enum class outcome : std::uint8_t { added, duplicate, failed };
    bool (*each)(const void*, void* context, visitor);  // stops at the first false
    void (*clear)(void*) noexcept;
    outcome (*insert)(void*, void* context, filler);  // failed: the filler returned false
};

struct variant_ops {
    std::size_t (*index)(const void*) noexcept;
    const void* (*content)(const void*) noexcept;
    void* (*emplace)(void*, std::size_t);
};

struct self_ops {
    json::value (*encode)(const void*);
    bool (*write)(std::string& out, const void*);
    bool (*decode)(const json::value&, void*, decode_error&);
    json::value (*schema)() = nullptr;  // null: {}
    bool complete = false;              // decode accepts only what the schema allows, for all that Keel can know
};

/// Describes a type. Which of the pointers are set depends on the shape.
struct type_table {
    shape kind{};
    bool is_signed = false;
    std::size_t size = 0;
    std::size_t count = 0;                            // elements of an array, alternatives of a variant
    const type_table* element = nullptr;              // of nullable, list, array, map, set
    const type_table* const* alternatives = nullptr;  // of a variant
    const nullable_ops* nullable = nullptr;
    const list_ops* list = nullptr;
    const bits_ops* bits = nullptr;
    const map_ops* map = nullptr;
    const set_ops* set = nullptr;
    const variant_ops* variant = nullptr;
    const self_ops* self = nullptr;
    const struct_table& (*fields)() noexcept = nullptr;  // functions, because a struct may contain itself (in a list)
    const enum_table& (*names)() noexcept = nullptr;
};

/// A limit of a number; exact if it was given as an integer.
struct limit {
    enum class form : std::uint8_t { none, integer, real };
    form kind = form::none;
    std::int64_t integer = 0;
    double real = 0;
};

inline constexpr std::size_t no_limit = static_cast<std::size_t>(-1);

struct field_notes {
    std::string_view wire, title, description, format, pattern;
    limit minimum, maximum, exclusive_minimum, exclusive_maximum;
    std::size_t min_length = 0, max_length = no_limit;
    std::size_t min_items = 0, max_items = no_limit;
    bool defaulted = false;
    bool omit_empty = false;
    bool one_or_many = false;
    bool rest = false;
    bool limited = false;  // decode must check limits
};

struct field {
    std::string_view wire;
    const type_table* type = nullptr;
    void* (*reach)(void*) noexcept = nullptr;
    bool plain = true;  // the JSON name needs no escapes
    bool required = true;
    bool (*as_made)(const void* member) noexcept = nullptr;  // omit_empty scalars: has the default value
    field_notes notes;
};

struct struct_table {
    using visitor = void (*)(void* context, void* object);
    std::string_view name;
    const field* fields = nullptr;
    std::size_t count = 0;
    std::uint64_t required = 0;  // one bit per field
    void (*with_default)(void* context, visitor) = nullptr;
    const field* rest = nullptr;      // collects unknown members
    std::string_view tag, tag_value;  // KEEL_DESCRIBE_TAGGED: a JSON member with a constant string
};

struct enum_name {
    std::string_view wire;
    std::uint64_t bits;  // the value, truncated to the size of the enum
};

struct enum_table {
    const enum_name* names = nullptr;
    std::size_t count = 0;
};

/// Lets encode omit members and adapt the JSON of self-described types.
struct encode_filter {
    bool (*keeps)(const void* context, const struct_table&, const field&, const void* member) = nullptr;
    json::value (*adapt)(const void* context, const type_table&, json::value made) = nullptr;
    const void* context = nullptr;
};

// Not a pointer, so that a derived struct does not match the description of its base.
template <class T>
struct tag {};

}  // namespace detail

/// A struct with KEEL_DESCRIBE.
template <class T>
concept described = requires {
    { keel_description(detail::tag<T>{}) } -> std::same_as<const detail::struct_table&>;
};

/// An enum with KEEL_DESCRIBE_ENUM.
template <class T>
concept described_enum = requires {
    { keel_description(detail::tag<T>{}) } -> std::same_as<const detail::enum_table&>;
};

/// The JSON form of a type that is not yours. Specialize it:
///
///     template <>
///     struct keel::codec<money> {
///         static json::value encode(const money& from);
///         static bool decode(const json::value& from, money& into, keel::decode_error& error);  // sets the error if it is false
///         static json::value schema();  // optional; {} without it
///     };
template <class T>
struct codec;

namespace detail {
template <class T>
concept has_codec = requires { sizeof(codec<T>); };
template <class T>
concept valid_codec = requires(const T& from, T& into, const json::value& v, decode_error& e) {
    { codec<T>::encode(from) } -> std::convertible_to<json::value>;
    { codec<T>::decode(v, into, e) } -> std::same_as<bool>;
};
}  // namespace detail

/// A type with its own functions keel_encode and keel_decode, in its namespace. keel_decode sets the error if it returns false. An
/// optional `bool keel_write_json(std::string&, const T&)` writes the text directly.
template <class T>
concept self_described = requires(const T& from, T& into, const json::value& v, decode_error& e) {
    { keel_encode(from) } -> std::same_as<json::value>;
    { keel_decode(v, into, e) } -> std::same_as<bool>;
};

}  // namespace keel
