#pragma once

// What a described type looks like to the loops in src/describe: tables of fields, behind void pointers.

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
    variant,
    any,     // json::value
    object,  // a described struct
    self,    // a type with keel_encode and keel_decode of its own
};

struct struct_table;
struct enum_table;

struct nullable_ops {
    void* (*content)(void*) noexcept;  // nullptr when there is none
    void* (*emplace)(void*);
    void (*reset)(void*) noexcept;
};

struct element_range {
    void* first;
    std::size_t count;
};

struct list_ops {
    element_range (*elements)(void*) noexcept;
    void (*start)(void*, std::size_t expected);  // empties it
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

struct variant_ops {
    std::size_t (*index)(const void*) noexcept;
    const void* (*content)(const void*) noexcept;
    void* (*emplace)(void*, std::size_t);
};

struct self_ops {
    json::value (*encode)(const void*);
    bool (*write)(std::string& out, const void*);
    bool (*decode)(const json::value&, void*, decode_error&);
};

/// What the loops need to know of a type. Which of the pointers are set depends on the shape.
struct type_table {
    shape kind{};
    bool is_signed = false;
    std::size_t size = 0;
    std::size_t count = 0;                            // elements of an array, alternatives of a variant
    const type_table* element = nullptr;              // of nullable, list, array, map
    const type_table* const* alternatives = nullptr;  // of a variant
    const nullable_ops* nullable = nullptr;
    const list_ops* list = nullptr;
    const bits_ops* bits = nullptr;
    const map_ops* map = nullptr;
    const variant_ops* variant = nullptr;
    const self_ops* self = nullptr;
    const struct_table& (*fields)() noexcept = nullptr;  // functions, because a struct may hold itself
    const enum_table& (*names)() noexcept = nullptr;
};

/// A limit of a number, exact when it was written as an integer.
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
    bool limited = false;  // decoding has something to check
};

struct field {
    std::string_view wire;
    const type_table* type = nullptr;
    void* (*reach)(void*) noexcept = nullptr;
    bool plain = true;  // the name needs no escapes
    bool required = true;
    bool (*as_made)(const void* member) noexcept = nullptr;  // with omit_empty: a scalar that the constructor set so
    field_notes notes;
};

struct struct_table {
    using visitor = void (*)(void* context, void* object);
    std::string_view name;
    const field* fields = nullptr;
    std::size_t count = 0;
    std::uint64_t required = 0;  // one bit per field
    void (*with_default)(void* context, visitor) = nullptr;
    const field* rest = nullptr;      // takes the members that no field names
    std::string_view tag, tag_value;  // of KEEL_DESCRIBE_TAGGED: a member with a constant text, in no C++ member
};

struct enum_name {
    std::string_view wire;
    std::uint64_t bits;  // the value, cut to the size of the enum
};

struct enum_table {
    const enum_name* names = nullptr;
    std::size_t count = 0;
};

/// Lets encode leave out members, and change what a type that encodes itself has made.
struct encode_filter {
    bool (*keeps)(const void* context, const struct_table&, const field&, const void* member) = nullptr;
    json::value (*adapt)(const void* context, const type_table&, json::value made) = nullptr;
    const void* context = nullptr;
};

// Exact match on purpose: with a pointer a derived struct would pass for its base.
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

/// A type that encodes and decodes itself, by functions in its own namespace. keel_decode says in the error what does
/// not fit. `bool keel_write_json(std::string&, const T&)` may stand beside them where there is a faster way to the text.
template <class T>
concept self_described = requires(const T& from, T& into, const json::value& v, decode_error& e) {
    { keel_encode(from) } -> std::same_as<json::value>;
    { keel_decode(v, into, e) } -> std::same_as<bool>;
};

}  // namespace keel
