#pragma once

// Structs as JSON: one line names the members, and the struct can be encoded, decoded and shown as a JSON Schema.
//
//     enum class color { red, green };
//     KEEL_DESCRIBE_ENUM(color, red, green)
//
//     struct args {
//         std::string name;
//         std::optional<int> count;
//         color paint = color::red;
//     };
//     KEEL_DESCRIBE(args, (name, "Who to greet", keel::min_length(1)), count, (paint, keel::defaulted))
//
// See docs/describe.md. The templates here only turn types into tables; the loops over them are in src/describe.

#include <keel/json.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace keel {

/// Where a value did not fit and why: `arguments.items[2].name` and `expected string, found integer`.
struct decode_error {
    std::string path;
    std::string text;

    /// Both: `arguments.items[2].name: expected string, found integer`.
    std::string message() const;
};

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
    bool limited = false;  // decoding has something to check
};

struct field {
    std::string_view wire;
    const type_table* type = nullptr;
    void* (*reach)(void*) noexcept = nullptr;
    bool plain = true;  // the name needs no escapes
    bool required = true;
    field_notes notes;
};

struct struct_table {
    using visitor = void (*)(void* context, void* object);
    std::string_view name;
    const field* fields = nullptr;
    std::size_t count = 0;
    std::uint64_t required = 0;  // one bit per field
    void (*with_default)(void* context, visitor) = nullptr;
};

struct enum_name {
    std::string_view wire;
    std::uint64_t bits;  // the value, cut to the size of the enum
};

struct enum_table {
    const enum_name* names = nullptr;
    std::size_t count = 0;
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

// ---- what can be said of a member, after its name: (name, "description", keel::minimum(1)) ----

namespace detail {

struct text_option {
    std::string_view field_notes::* where;
    std::string_view text;
};
struct string_option {
    std::string_view field_notes::* where;
    std::string_view text;
};
struct length_option {
    std::size_t field_notes::* where;
    std::size_t count;
};
struct items_option {
    std::size_t field_notes::* where;
    std::size_t count;
};
struct number_option {
    limit field_notes::* where;
    limit bound;
};
struct defaulted_option {};

constexpr void apply(field_notes& n, const char* description) { n.description = description; }
constexpr void apply(field_notes& n, const text_option& o) { n.*o.where = o.text; }
constexpr void apply(field_notes& n, const string_option& o) { n.*o.where = o.text; }
constexpr void apply(field_notes& n, const defaulted_option&) { n.defaulted = true; }
constexpr void apply(field_notes& n, const length_option& o) {
    n.*o.where = o.count;
    n.limited = true;
}
constexpr void apply(field_notes& n, const items_option& o) {
    n.*o.where = o.count;
    n.limited = true;
}
constexpr void apply(field_notes& n, const number_option& o) {
    n.*o.where = o.bound;
    n.limited = true;
}

template <class N>
constexpr limit make_limit(N n) {
    static_assert(std::is_arithmetic_v<N> && !std::is_same_v<N, bool>, "keel: a limit is a number");
    if constexpr (std::is_integral_v<N>) {
        if (std::in_range<std::int64_t>(n)) return {limit::form::integer, static_cast<std::int64_t>(n), 0};
    }
    return {limit::form::real, 0, static_cast<double>(n)};
}

}  // namespace detail

/// The name on the wire where it is not the member's own: (input_schema, keel::wire("inputSchema")).
constexpr detail::text_option wire(const char* name) { return {&detail::field_notes::wire, name}; }
constexpr detail::text_option title(const char* text) { return {&detail::field_notes::title, text}; }
/// Not required; a missing member stays as the struct's default constructor made it. The schema shows that default.
inline constexpr detail::defaulted_option defaulted{};

// Numbers. Checked by decode.
template <class N>
constexpr detail::number_option minimum(N n) {
    return {&detail::field_notes::minimum, detail::make_limit(n)};
}
template <class N>
constexpr detail::number_option maximum(N n) {
    return {&detail::field_notes::maximum, detail::make_limit(n)};
}
template <class N>
constexpr detail::number_option exclusive_minimum(N n) {
    return {&detail::field_notes::exclusive_minimum, detail::make_limit(n)};
}
template <class N>
constexpr detail::number_option exclusive_maximum(N n) {
    return {&detail::field_notes::exclusive_maximum, detail::make_limit(n)};
}

// Strings, in characters (code points). Checked by decode.
constexpr detail::length_option min_length(std::size_t n) { return {&detail::field_notes::min_length, n}; }
constexpr detail::length_option max_length(std::size_t n) { return {&detail::field_notes::max_length, n}; }
// Strings. Shown in the schema only: decode does not check them.
constexpr detail::string_option format(const char* name) { return {&detail::field_notes::format, name}; }
constexpr detail::string_option pattern(const char* expression) { return {&detail::field_notes::pattern, expression}; }

// Lists. Checked by decode.
constexpr detail::items_option min_items(std::size_t n) { return {&detail::field_notes::min_items, n}; }
constexpr detail::items_option max_items(std::size_t n) { return {&detail::field_notes::max_items, n}; }

// ---- from types to tables ----

namespace detail {

template <class T>
constexpr type_table make_type() noexcept;

template <class T>
inline constexpr type_table type_for = make_type<T>();

template <class T>
const struct_table& struct_table_of() noexcept {
    return keel_description(tag<T>{});
}

template <class T>
const enum_table& enum_table_of() noexcept {
    return keel_description(tag<T>{});
}

template <class T>
struct nullable_access;
template <class T>
struct nullable_access<std::optional<T>> {
    using owner = std::optional<T>;
    static void* content(void* p) noexcept {
        auto& o = *static_cast<owner*>(p);
        return o ? std::addressof(*o) : nullptr;
    }
    static void* emplace(void* p) { return std::addressof(static_cast<owner*>(p)->emplace()); }
    static void reset(void* p) noexcept { static_cast<owner*>(p)->reset(); }
    static constexpr nullable_ops ops{&content, &emplace, &reset};
};

template <class T>
struct owner_access {  // std::unique_ptr, known by what it can do: <memory> is a heavy header
    static void* content(void* p) noexcept { return static_cast<T*>(p)->get(); }
    static void* emplace(void* p) {
        static_cast<T*>(p)->reset(new typename T::element_type());
        return static_cast<T*>(p)->get();
    }
    static void reset(void* p) noexcept { static_cast<T*>(p)->reset(); }
    static constexpr nullable_ops ops{&content, &emplace, &reset};
};

template <class T>
struct list_access {
    static element_range elements(void* p) noexcept {
        auto& list = *static_cast<T*>(p);
        return {list.data(), list.size()};
    }
    static void start(void* p, std::size_t expected) {
        static_cast<T*>(p)->clear();
        static_cast<T*>(p)->reserve(expected);
    }
    static void* append(void* p) { return std::addressof(static_cast<T*>(p)->emplace_back()); }
    static constexpr list_ops ops{&elements, &start, &append};
};

template <class T>
struct bits_access {
    static std::size_t count(const void* p) noexcept { return static_cast<const T*>(p)->size(); }
    static bool test(const void* p, std::size_t i) noexcept { return (*static_cast<const T*>(p))[i]; }
    static void resize(void* p, std::size_t n) { static_cast<T*>(p)->resize(n); }
    static void assign(void* p, std::size_t i, bool b) noexcept { (*static_cast<T*>(p))[i] = b; }
    static constexpr bits_ops ops{&count, &test, &resize, &assign};
};

template <class T>
struct map_access {
    static bool each(const void* p, void* context, map_ops::visitor visit) {
        for (const auto& [key, content] : *static_cast<const T*>(p)) {
            if (!visit(context, key, std::addressof(content))) return false;
        }
        return true;
    }
    static void clear(void* p) noexcept { static_cast<T*>(p)->clear(); }
    static void* insert(void* p, std::string_view key) {
        return std::addressof(static_cast<T*>(p)->try_emplace(std::string(key)).first->second);
    }
    static constexpr map_ops ops{&each, &clear, &insert};
};

template <class T, class Indices>
struct variant_access;
template <class... Ts, std::size_t... Is>
struct variant_access<std::variant<Ts...>, std::index_sequence<Is...>> {
    using owner = std::variant<Ts...>;
    template <std::size_t I>
    static const void* content_at(const void* p) noexcept {
        return std::get_if<I>(static_cast<const owner*>(p));
    }
    template <std::size_t I>
    static void* emplace_at(void* p) {
        return std::addressof(static_cast<owner*>(p)->template emplace<I>());
    }
    static std::size_t index(const void* p) noexcept { return static_cast<const owner*>(p)->index(); }
    static const void* content(const void* p) noexcept {
        static constexpr const void* (*at[])(const void*) noexcept = {&content_at<Is>...};
        return at[index(p)](p);
    }
    static void* emplace(void* p, std::size_t i) {
        static constexpr void* (*at[])(void*) = {&emplace_at<Is>...};
        return at[i](p);
    }
    static constexpr variant_ops ops{&index, &content, &emplace};
    static constexpr const type_table* alternatives[] = {&type_for<Ts>...};
};

template <class T>
struct standard {  // anything that is none of the below
    static constexpr shape kind = shape::object;
};
template <class T>
struct standard<std::optional<T>> {
    static constexpr shape kind = shape::nullable;
    static constexpr type_table make() noexcept {
        return {.kind = kind, .element = &type_for<T>, .nullable = &nullable_access<std::optional<T>>::ops};
    }
};
template <class T, class A>
struct standard<std::vector<T, A>> {
    static constexpr shape kind = shape::list;
    static constexpr type_table make() noexcept {
        return {.kind = kind, .element = &type_for<T>, .list = &list_access<std::vector<T, A>>::ops};
    }
};
template <class A>
struct standard<std::vector<bool, A>> {
    using list = std::vector<bool, A>;
    static constexpr shape kind = shape::bits;
    static constexpr type_table make() noexcept {
        return {.kind = kind, .element = &type_for<typename list::value_type>, .bits = &bits_access<list>::ops};
    }
};
template <class T, std::size_t N>
struct standard<std::array<T, N>> {
    static constexpr shape kind = shape::array;
    static constexpr type_table make() noexcept { return {.kind = kind, .count = N, .element = &type_for<T>}; }
};
template <class... Ts>
struct standard<std::variant<Ts...>> {
    static constexpr shape kind = shape::variant;
    static constexpr type_table make() noexcept {
        using access = variant_access<std::variant<Ts...>, std::index_sequence_for<Ts...>>;
        return {.kind = kind, .count = sizeof...(Ts), .alternatives = access::alternatives, .variant = &access::ops};
    }
};

template <class T>
concept map_like = requires(T& m, typename T::key_type k) {
    typename T::mapped_type;
    m.try_emplace(k);
};
template <class T>
concept owner_like = requires(T& p) {
    typename T::element_type;
    typename T::deleter_type;
    p.release();
};
template <class T>
concept character = std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
                    std::same_as<T, char16_t> || std::same_as<T, char32_t>;

template <class T>
constexpr shape shape_of() noexcept {
    if constexpr (std::is_same_v<T, bool>) return shape::boolean;
    else if constexpr (std::is_same_v<T, std::nullptr_t> || std::is_same_v<T, std::monostate>) return shape::null;
    else if constexpr (std::is_integral_v<T>) return shape::integer;
    else if constexpr (std::is_floating_point_v<T>) return shape::real;
    else if constexpr (std::is_same_v<T, std::string>) return shape::string;
    else if constexpr (std::is_same_v<T, json::value>) return shape::any;
    else if constexpr (std::is_enum_v<T>) return shape::enumeration;
    else if constexpr (map_like<T>) return shape::map;
    else if constexpr (owner_like<T>) return shape::nullable;
    else return standard<T>::kind;
}

/// The shape that the options of a member speak of: an optional number is limited as the number in it.
template <class T>
constexpr shape shape_within() noexcept {
    if constexpr (owner_like<T>) return shape_within<typename T::element_type>();
    else if constexpr (standard<T>::kind == shape::nullable) return shape_within<typename T::value_type>();
    else return shape_of<T>();
}

template <class>
inline constexpr bool never = false;

template <class T>
constexpr type_table make_type() noexcept {
    constexpr shape kind = shape_of<T>();
    if constexpr (std::is_pointer_v<T> || std::is_reference_v<T>) {
        static_assert(never<T>,
                      "keel: pointers and references cannot be described: use std::optional or "
                      "std::unique_ptr, and std::string for text");
    } else if constexpr (std::is_same_v<T, std::string_view>) {
        static_assert(never<T>, "keel: a described member owns its text: use std::string instead of std::string_view");
    } else if constexpr (character<T>) {
        static_assert(never<T>, "keel: a character is neither a number nor a text: use std::string or std::int8_t");
    } else if constexpr (std::is_same_v<T, long double>) {
        static_assert(never<T>, "keel: JSON numbers are read as double: use double instead of long double");
    } else if constexpr (std::is_enum_v<T>) {
        if constexpr (described_enum<T>) {
            return {.kind = kind, .size = sizeof(T), .names = &enum_table_of<T>};
        } else {
            static_assert(never<T>,
                          "keel: this enum has no description: add KEEL_DESCRIBE_ENUM(type, "
                          "enumerators...) after it");
        }
    } else if constexpr (kind == shape::map) {
        if constexpr (std::is_same_v<typename T::key_type, std::string>) {
            return {.kind = kind, .element = &type_for<typename T::mapped_type>, .map = &map_access<T>::ops};
        } else {
            static_assert(never<T>, "keel: the keys of a described map are std::string");
        }
    } else if constexpr (owner_like<T>) {
        return {.kind = kind, .element = &type_for<typename T::element_type>, .nullable = &owner_access<T>::ops};
    } else if constexpr (kind == shape::object) {
        if constexpr (described<T>) {
            return {.kind = kind, .size = sizeof(T), .fields = &struct_table_of<T>};
        } else {
            static_assert(never<T>, "keel: this type has no description: add KEEL_DESCRIBE(type, members...) after it");
        }
    } else if constexpr (kind >= shape::nullable && kind <= shape::variant) {
        type_table made = standard<T>::make();
        made.size = sizeof(T);
        return made;
    } else {
        return {.kind = kind, .is_signed = std::is_signed_v<T>, .size = sizeof(T)};
    }
    return {};
}

template <class Struct, auto Member>
void* reach(void* object) noexcept {
    return std::addressof(static_cast<Struct*>(object)->*Member);
}

template <class Pointer>
struct pointed_member;
template <class Class, class Member>
struct pointed_member<Member Class::*> {
    using type = Member;
};

template <class Option, class... Options>
// NOLINTNEXTLINE(misc-redundant-expression): a fold, not the same thing twice
inline constexpr bool has_option = (std::is_same_v<Option, Options> || ...);

constexpr bool needs_no_escapes(std::string_view name) {
    for (char c : name) {
        if (c < ' ' || c == '"' || c == '\\' || c > '~') return false;
    }
    return true;
}

template <class Struct, auto Member, class... Options>
constexpr field make_field(const char* name, const Options&... options) {
    using content = typename pointed_member<decltype(Member)>::type;
    if constexpr (!std::is_member_object_pointer_v<decltype(Member)>) {
        static_assert(never<Struct>, "keel: only data members can be described");
        return {};
    } else if constexpr (std::is_const_v<content>) {
        static_assert(never<Struct>, "keel: a const member cannot be decoded, so it cannot be described");
        return {};
    } else {
        constexpr shape kind = shape_within<content>();
        static_assert(!has_option<number_option, Options...> || kind == shape::integer || kind == shape::real,
                      "keel: minimum and maximum are for numbers");
        static_assert(
            !(has_option<length_option, Options...> || has_option<string_option, Options...>) || kind == shape::string,
            "keel: min_length, max_length, format and pattern are for strings");
        static_assert(!has_option<items_option, Options...> || kind == shape::list || kind == shape::bits,
                      "keel: min_items and max_items are for lists");
        field made{.wire = name, .type = &type_for<content>, .reach = &reach<Struct, Member>, .notes = {}};
        (apply(made.notes, options), ...);
        if (!made.notes.wire.empty()) made.wire = made.notes.wire;
        made.plain = needs_no_escapes(made.wire);
        made.required = !made.notes.defaulted && shape_of<content>() != shape::nullable;
        return made;
    }
}

template <class... Fields>
constexpr std::array<field, sizeof...(Fields)> make_fields(const Fields&... fields) {
    static_assert(sizeof...(Fields) <= 64, "keel: a described struct has at most 64 members");
    return {fields...};
}

template <class Named>
constexpr bool wire_names_differ(const Named* first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (first[i].wire == first[j].wire) return false;
        }
    }
    return true;
}

constexpr std::uint64_t required_bits(const field* first, std::size_t count) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < count; ++i) bits |= std::uint64_t{first[i].required} << i;
    return bits;
}

template <class T>
void with_default(void* context, struct_table::visitor visit) {
    T object{};
    visit(context, &object);
}

template <class T>
constexpr enum_name make_enum_name(T value, const char* name, const char* wire = nullptr) {
    using number = std::make_unsigned_t<
        std::conditional_t<std::is_same_v<std::underlying_type_t<T>, bool>, unsigned char, std::underlying_type_t<T>>>;
    return {wire != nullptr ? wire : name, static_cast<number>(value)};
}

// The loops, in src/describe.
json::value encode(const type_table&, const void* from);
bool write_json(std::string& out, const type_table&, const void* from);
bool decode(const type_table&, const json::value&, void* into, decode_error&, std::string_view prefix);
[[noreturn]] void throw_decode_error(const decode_error&);
json::value schema_of(const type_table&);

}  // namespace detail

/// The value of a described struct or any type a member may have. Absent optionals are left out of objects. NaN and
/// text that is not UTF-8 are found only when the value is written.
template <class T>
json::value encode(const T& from) {
    return detail::encode(detail::type_for<T>, std::addressof(from));
}

/// Appends the text directly, without a value in between. False when there is something JSON cannot express (NaN,
/// infinity, text that is not UTF-8): `out` is then as it was before.
template <class T>
[[nodiscard]] bool write_json(std::string& out, const T& from) {
    return detail::write_json(out, detail::type_for<T>, std::addressof(from));
}

/// Fills `into`. Members that are missing and may be missing keep what `into` held; unknown ones are ignored. On false,
/// `error` says where and why, starting from `prefix`, and `into` is partly filled.
template <class T>
[[nodiscard]] bool decode(const json::value& from, T& into, decode_error& error, std::string_view prefix = {}) {
    return detail::decode(detail::type_for<T>, from, std::addressof(into), error, prefix);
}

/// The same, throwing json::error.
template <class T>
T decode(const json::value& from, std::string_view prefix = {}) {
    T into{};
    decode_error error;
    if (!detail::decode(detail::type_for<T>, from, std::addressof(into), error, prefix)) {
        detail::throw_decode_error(error);
    }
    return into;
}

/// The JSON Schema (2020-12) of what decode accepts and encode makes. Built anew at each call.
template <class T>
json::value schema_of() {
    return detail::schema_of(detail::type_for<T>);
}

}  // namespace keel

/// KEEL_DESCRIBE(type, members...) in the namespace of the struct, after it. A member is its name, or
/// (name, "description", options...).
#define KEEL_DESCRIBE(Type, ...)                                                                                       \
    [[maybe_unused]] inline const ::keel::detail::struct_table& keel_description(::keel::detail::tag<Type>) noexcept { \
        static_assert(::std::is_class_v<Type>, "keel: KEEL_DESCRIBE is for structs: use KEEL_DESCRIBE_ENUM");          \
        static_assert(::std::is_default_constructible_v<Type>,                                                         \
                      "keel: a described struct needs a default constructor");                                         \
        static constexpr auto keel_fields =                                                                            \
            ::keel::detail::make_fields(KEEL_DETAIL_EACH(KEEL_DETAIL_FIELD, Type __VA_OPT__(, ) __VA_ARGS__));         \
        static_assert(::keel::detail::wire_names_differ(keel_fields.data(), keel_fields.size()),                       \
                      "keel: two members of this struct have the same wire name");                                     \
        static constexpr ::keel::detail::struct_table keel_table{                                                      \
            #Type, keel_fields.data(), keel_fields.size(),                                                             \
            ::keel::detail::required_bits(keel_fields.data(), keel_fields.size()),                                     \
            &::keel::detail::with_default<Type>};                                                                      \
        return keel_table;                                                                                             \
    }

/// For two structs that hold each other: says before the description of the first that the second has one too.
#define KEEL_DESCRIBE_LATER(Type) \
    inline const ::keel::detail::struct_table& keel_description(::keel::detail::tag<Type>) noexcept;

/// KEEL_DESCRIBE_ENUM(type, enumerators...) in the namespace of the enum, after it. An enumerator is its name, or
/// (name, "name on the wire").
#define KEEL_DESCRIBE_ENUM(Type, ...)                                                                                \
    [[maybe_unused]] inline const ::keel::detail::enum_table& keel_description(::keel::detail::tag<Type>) noexcept { \
        static_assert(::std::is_enum_v<Type>, "keel: KEEL_DESCRIBE_ENUM is for enums: use KEEL_DESCRIBE");           \
        static constexpr ::keel::detail::enum_name keel_names[] = {                                                  \
            KEEL_DETAIL_EACH(KEEL_DETAIL_ENUMERATOR, Type, __VA_ARGS__)};                                            \
        static_assert(::keel::detail::wire_names_differ(keel_names, sizeof(keel_names) / sizeof(keel_names[0])),     \
                      "keel: two enumerators have the same wire name");                                              \
        static constexpr ::keel::detail::enum_table keel_table{keel_names,                                           \
                                                               sizeof(keel_names) / sizeof(keel_names[0])};          \
        return keel_table;                                                                                           \
    }

// KEEL_DETAIL_EACH(m, T, a, b, c) is m(T, a), m(T, b), m(T, c), for up to 64 and some more. A macro cannot call itself,
// but it can leave a call behind that the next scan of the text carries out; REPEAT scans often enough.
#define KEEL_DETAIL_EACH(Macro, Type, ...) \
    __VA_OPT__(KEEL_DETAIL_REPEAT(KEEL_DETAIL_EACH_STEP(Macro, Type, __VA_ARGS__)))
#define KEEL_DETAIL_EACH_STEP(Macro, Type, Item, ...) \
    Macro(Type, Item) __VA_OPT__(, KEEL_DETAIL_EACH_AGAIN KEEL_DETAIL_PARENS(Macro, Type, __VA_ARGS__))
#define KEEL_DETAIL_EACH_AGAIN() KEEL_DETAIL_EACH_STEP
#define KEEL_DETAIL_PARENS ()
#define KEEL_DETAIL_REPEAT(...) KEEL_DETAIL_REPEAT3(KEEL_DETAIL_REPEAT3(KEEL_DETAIL_REPEAT3(__VA_ARGS__)))
#define KEEL_DETAIL_REPEAT3(...) KEEL_DETAIL_REPEAT2(KEEL_DETAIL_REPEAT2(KEEL_DETAIL_REPEAT2(__VA_ARGS__)))
#define KEEL_DETAIL_REPEAT2(...) KEEL_DETAIL_REPEAT1(KEEL_DETAIL_REPEAT1(KEEL_DETAIL_REPEAT1(__VA_ARGS__)))
#define KEEL_DETAIL_REPEAT1(...) KEEL_DETAIL_REPEAT0(KEEL_DETAIL_REPEAT0(KEEL_DETAIL_REPEAT0(__VA_ARGS__)))
#define KEEL_DETAIL_REPEAT0(...) __VA_ARGS__

// 1 when the item is in parentheses, 0 when it is a bare name.
#define KEEL_DETAIL_IN_PARENS(Item) KEEL_DETAIL_SECOND(KEEL_DETAIL_PROBE Item, 0, 0)
#define KEEL_DETAIL_PROBE(...) 0, 1
#define KEEL_DETAIL_SECOND(...) KEEL_DETAIL_SECOND_OF(__VA_ARGS__)
#define KEEL_DETAIL_SECOND_OF(First, Second, ...) Second
#define KEEL_DETAIL_JOIN(A, B) KEEL_DETAIL_JOIN_NOW(A, B)
#define KEEL_DETAIL_JOIN_NOW(A, B) A##B
#define KEEL_DETAIL_OPEN(...) __VA_ARGS__
#define KEEL_DETAIL_CALL(Macro, ...) Macro(__VA_ARGS__)

#define KEEL_DETAIL_FIELD(Type, Item) KEEL_DETAIL_JOIN(KEEL_DETAIL_FIELD_, KEEL_DETAIL_IN_PARENS(Item))(Type, Item)
#define KEEL_DETAIL_FIELD_0(Type, Name) ::keel::detail::make_field<Type, &Type::Name>(#Name)
#define KEEL_DETAIL_FIELD_1(Type, Item) KEEL_DETAIL_CALL(KEEL_DETAIL_FIELD_WITH, Type, KEEL_DETAIL_OPEN Item)
#define KEEL_DETAIL_FIELD_WITH(Type, Name, ...) \
    ::keel::detail::make_field<Type, &Type::Name>(#Name __VA_OPT__(, ) __VA_ARGS__)

#define KEEL_DETAIL_ENUMERATOR(Type, Item) \
    KEEL_DETAIL_JOIN(KEEL_DETAIL_ENUMERATOR_, KEEL_DETAIL_IN_PARENS(Item))(Type, Item)
#define KEEL_DETAIL_ENUMERATOR_0(Type, Name) ::keel::detail::make_enum_name(Type::Name, #Name)
#define KEEL_DETAIL_ENUMERATOR_1(Type, Item) KEEL_DETAIL_CALL(KEEL_DETAIL_ENUMERATOR_WITH, Type, KEEL_DETAIL_OPEN Item)
#define KEEL_DETAIL_ENUMERATOR_WITH(Type, Name, Wire) ::keel::detail::make_enum_name(Type::Name, #Name, Wire)
