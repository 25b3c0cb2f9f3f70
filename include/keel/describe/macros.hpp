#pragma once

// The macros behind descriptions.

#include <keel/describe/types.hpp>

/// KEEL_DESCRIBE(type, members...) in the namespace of the struct, after it. A member is its name, or
/// (name, "description", options...).
#define KEEL_DESCRIBE(Type, ...) KEEL_DETAIL_DESCRIBE(Type, "", "" __VA_OPT__(, ) __VA_ARGS__)

/// KEEL_DESCRIBE_TAGGED(type, "type", "circle", members...): the object also has a member of that name with that
/// constant text. A std::variant of such structs is read by looking at it.
#define KEEL_DESCRIBE_TAGGED(Type, Tag, Value, ...) KEEL_DETAIL_DESCRIBE(Type, Tag, Value __VA_OPT__(, ) __VA_ARGS__)

#define KEEL_DETAIL_DESCRIBE(Type, Tag, Value, ...)                                                                    \
    [[maybe_unused]] inline const ::keel::detail::struct_table& keel_description(::keel::detail::tag<Type>) noexcept { \
        static_assert(::std::is_class_v<Type>, "keel: KEEL_DESCRIBE is for structs: use KEEL_DESCRIBE_ENUM");          \
        static_assert(::std::is_default_constructible_v<Type>,                                                         \
                      "keel: a described struct needs a default constructor");                                         \
        static constexpr auto keel_fields =                                                                            \
            ::keel::detail::make_fields(KEEL_DETAIL_EACH(KEEL_DETAIL_FIELD, Type __VA_OPT__(, ) __VA_ARGS__));         \
        static_assert(::keel::detail::wire_names_differ(keel_fields.data(), keel_fields.size()),                       \
                      "keel: two members of this struct have the same wire name");                                     \
        static_assert(*Tag == 0 || !::keel::detail::is_field_name(keel_fields.data(), keel_fields.size(), Tag),        \
                      "keel: a member of this struct has the wire name of its tag");                                   \
        static_assert(::keel::detail::count_rests(keel_fields.data(), keel_fields.size()) <= 1,                        \
                      "keel: only one member can take the rest");                                                      \
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
