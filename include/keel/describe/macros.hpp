#pragma once

// KEEL_DESCRIBE and the other macros that describe types.

#include <keel/describe/types.hpp>

/// KEEL_DESCRIBE(type, members...) describes a struct. Place it after the struct, in the same namespace. A member is its name, or
/// (name, "description", options...).
#define KEEL_DESCRIBE(Type, ...) KEEL_DETAIL_DESCRIBE(Type, "", "" __VA_OPT__(, ) __VA_ARGS__)

/// KEEL_DESCRIBE_TAGGED(type, "type", "circle", members...) also adds a JSON member with this name and this constant string. It
/// selects the alternative when a std::variant of such structs is decoded.
#define KEEL_DESCRIBE_TAGGED(Type, Tag, Value, ...) KEEL_DETAIL_DESCRIBE(Type, Tag, Value __VA_OPT__(, ) __VA_ARGS__)

#define KEEL_DETAIL_DESCRIBE(Type, Tag, Value, ...)                                                                    \
    [[maybe_unused]] inline const ::keel::detail::struct_table& keel_description(::keel::detail::tag<Type>) noexcept { \
        static_assert(::std::is_class_v<Type>,                                                                         \
                      "keel: KEEL_DESCRIBE needs a struct; use KEEL_DESCRIBE_ENUM for enums");                         \
        static_assert(::std::is_default_constructible_v<Type>,                                                         \
                      "keel: a described struct needs a default constructor");                                         \
        static constexpr auto keel_fields =                                                                            \
            ::keel::detail::make_fields(KEEL_DETAIL_EACH(KEEL_DETAIL_FIELD, Type __VA_OPT__(, ) __VA_ARGS__));         \
        static_assert(::keel::detail::wire_names_differ(keel_fields.data(), keel_fields.size()),                       \
                      "keel: two members of this struct have the same JSON name");                                     \
        static_assert(*Tag == 0 || !::keel::detail::is_field_name(keel_fields.data(), keel_fields.size(), Tag),        \
                      "keel: a member of this struct has the JSON name of its tag");                                   \
        static_assert(::keel::detail::count_rests(keel_fields.data(), keel_fields.size()) <= 1,                        \
                      "keel: at most one member can have the option keel::rest");                                      \
        static constexpr ::keel::detail::struct_table keel_table{                                                      \
            #Type,                                                                                                     \
            keel_fields.data(),                                                                                        \
            keel_fields.size(),                                                                                        \
            ::keel::detail::required_bits(keel_fields.data(), keel_fields.size()),                                     \
            &::keel::detail::with_default<Type>,                                                                       \
            ::keel::detail::find_rest(keel_fields.data(), keel_fields.size()),                                         \
            Tag,                                                                                                       \
            Value};                                                                                                    \
        return keel_table;                                                                                             \
    }

/// Declares that a struct will be described later. For two structs that contain each other: place it before KEEL_DESCRIBE of the
/// first one.
#define KEEL_DESCRIBE_LATER(Type) \
    inline const ::keel::detail::struct_table& keel_description(::keel::detail::tag<Type>) noexcept;

/// KEEL_DESCRIBE_ENUM(type, enumerators...) describes an enum, whose values are strings in JSON. Place it after the enum, in the
/// same namespace. An enumerator is its name, or (name, "name in JSON").
#define KEEL_DESCRIBE_ENUM(Type, ...)                                                                                \
    [[maybe_unused]] inline const ::keel::detail::enum_table& keel_description(::keel::detail::tag<Type>) noexcept { \
        static_assert(::std::is_enum_v<Type>,                                                                        \
                      "keel: KEEL_DESCRIBE_ENUM needs an enum; use KEEL_DESCRIBE for structs");                      \
        static constexpr ::keel::detail::enum_name keel_names[] = {                                                  \
            KEEL_DETAIL_EACH(KEEL_DETAIL_ENUMERATOR, Type, __VA_ARGS__)};                                            \
        static_assert(::keel::detail::wire_names_differ(keel_names, sizeof(keel_names) / sizeof(keel_names[0])),     \
                      "keel: two enumerators have the same JSON name");                                              \
        static constexpr ::keel::detail::enum_table keel_table{keel_names,                                           \
                                                               sizeof(keel_names) / sizeof(keel_names[0])};          \
        return keel_table;                                                                                           \
    }

// KEEL_DETAIL_EACH(m, T, a, b, c) expands to m(T, a), m(T, b), m(T, c), for at least 64 items. A macro cannot call itself, but its
// expansion can contain a call that the next scan expands; KEEL_DETAIL_REPEAT scans often enough.
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

// 1 if the item is in parentheses, 0 if it is a name.
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
