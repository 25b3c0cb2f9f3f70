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
        static_assert(!::std::is_class_v<Type> || ::keel::described<Type>,                                             \
                      "keel: described in another namespace: move KEEL_DESCRIBE into the namespace of " #Type);        \
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
        static_assert(!::std::is_enum_v<Type> || ::keel::described_enum<Type>,                                       \
                      "keel: described in another namespace: move KEEL_DESCRIBE_ENUM into the namespace of " #Type); \
        static constexpr ::keel::detail::enum_name keel_names[] = {                                                  \
            KEEL_DETAIL_EACH(KEEL_DETAIL_ENUMERATOR, Type, __VA_ARGS__)};                                            \
        static_assert(::keel::detail::wire_names_differ(keel_names, sizeof(keel_names) / sizeof(keel_names[0])),     \
                      "keel: two enumerators have the same JSON name");                                              \
        static constexpr ::keel::detail::enum_table keel_table{keel_names,                                           \
                                                               sizeof(keel_names) / sizeof(keel_names[0])};          \
        return keel_table;                                                                                           \
    }

// KEEL_DETAIL_EACH(m, T, a, b, c) expands to m(T, a), m(T, b), m(T, c), for up to 96 items. One macro for each number of items: a
// recursive macro is shorter, but g++ prints each of its steps for an error in an item.
// clang-format off
#define KEEL_DETAIL_EACH(Macro, Type, ...) \
    __VA_OPT__(KEEL_DETAIL_JOIN(KEEL_DETAIL_EACH_, KEEL_DETAIL_COUNT(__VA_ARGS__))(Macro, Type, __VA_ARGS__))
#define KEEL_DETAIL_EACH_1(m, T, a) m(T, a)
#define KEEL_DETAIL_EACH_2(m, T, a, b) m(T, a), m(T, b)
#define KEEL_DETAIL_EACH_3(m, T, a, b, c) m(T, a), m(T, b), m(T, c)
#define KEEL_DETAIL_EACH_4(m, T, a, b, c, d) m(T, a), m(T, b), m(T, c), m(T, d)
#define KEEL_DETAIL_EACH_5(m, T, a, b, c, d, e) m(T, a), m(T, b), m(T, c), m(T, d), m(T, e)
#define KEEL_DETAIL_EACH_6(m, T, a, b, c, d, e, f) m(T, a), m(T, b), m(T, c), m(T, d), m(T, e), m(T, f)
#define KEEL_DETAIL_EACH_7(m, T, a, b, c, d, e, f, g) m(T, a), m(T, b), m(T, c), m(T, d), m(T, e), m(T, f), m(T, g)
#define KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h) m(T, a), m(T, b), m(T, c), m(T, d), m(T, e), m(T, f), m(T, g), m(T, h)
#define KEEL_DETAIL_EACH_9(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_1(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_10(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_2(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_11(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_3(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_12(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_4(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_13(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_5(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_14(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_6(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_15(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_7(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_16(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_8(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_17(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_9(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_18(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_10(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_19(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_11(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_20(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_12(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_21(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_13(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_22(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_14(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_23(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_15(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_24(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_16(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_25(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_17(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_26(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_18(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_27(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_19(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_28(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_20(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_29(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_21(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_30(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_22(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_31(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_23(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_32(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_24(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_33(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_25(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_34(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_26(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_35(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_27(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_36(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_28(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_37(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_29(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_38(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_30(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_39(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_31(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_40(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_32(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_41(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_33(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_42(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_34(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_43(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_35(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_44(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_36(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_45(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_37(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_46(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_38(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_47(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_39(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_48(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_40(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_49(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_41(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_50(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_42(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_51(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_43(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_52(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_44(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_53(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_45(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_54(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_46(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_55(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_47(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_56(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_48(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_57(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_49(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_58(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_50(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_59(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_51(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_60(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_52(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_61(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_53(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_62(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_54(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_63(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_55(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_64(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_56(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_65(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_57(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_66(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_58(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_67(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_59(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_68(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_60(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_69(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_61(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_70(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_62(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_71(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_63(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_72(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_64(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_73(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_65(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_74(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_66(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_75(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_67(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_76(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_68(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_77(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_69(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_78(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_70(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_79(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_71(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_80(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_72(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_81(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_73(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_82(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_74(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_83(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_75(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_84(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_76(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_85(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_77(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_86(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_78(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_87(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_79(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_88(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_80(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_89(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_81(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_90(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_82(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_91(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_83(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_92(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_84(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_93(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_85(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_94(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_86(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_95(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_87(m, T, __VA_ARGS__)
#define KEEL_DETAIL_EACH_96(m, T, a, b, c, d, e, f, g, h, ...) KEEL_DETAIL_EACH_8(m, T, a, b, c, d, e, f, g, h), KEEL_DETAIL_EACH_88(m, T, __VA_ARGS__)
#define KEEL_DETAIL_COUNT(...) KEEL_DETAIL_COUNT_OF(__VA_ARGS__, \
    96, 95, 94, 93, 92, 91, 90, 89, 88, 87, 86, 85, 84, 83, 82, 81, 80, 79, 78, 77, 76, 75, 74, 73, 72, 71, 70, 69, 68, 67, \
    66, 65, 64, 63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, \
    36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, \
    5, 4, 3, 2, 1, 0)
#define KEEL_DETAIL_COUNT_OF( \
    x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15, x16, x17, x18, x19, x20, x21, x22, x23, x24, x25, x26, \
    x27, x28, x29, x30, x31, x32, x33, x34, x35, x36, x37, x38, x39, x40, x41, x42, x43, x44, x45, x46, x47, x48, x49, x50, \
    x51, x52, x53, x54, x55, x56, x57, x58, x59, x60, x61, x62, x63, x64, x65, x66, x67, x68, x69, x70, x71, x72, x73, x74, \
    x75, x76, x77, x78, x79, x80, x81, x82, x83, x84, x85, x86, x87, x88, x89, x90, x91, x92, x93, x94, x95, x96, Count, ...) Count
// clang-format on

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
#define KEEL_DETAIL_FIELD_0(Type, Name) ::keel::detail::field_of<Type, &Type::Name>::make(#Name)
#define KEEL_DETAIL_FIELD_1(Type, Item) KEEL_DETAIL_CALL(KEEL_DETAIL_FIELD_WITH, Type, KEEL_DETAIL_OPEN Item)
#define KEEL_DETAIL_FIELD_WITH(Type, Name, ...) \
    ::keel::detail::field_of<Type, &Type::Name>::make(#Name __VA_OPT__(, ) __VA_ARGS__)

#define KEEL_DETAIL_ENUMERATOR(Type, Item) \
    KEEL_DETAIL_JOIN(KEEL_DETAIL_ENUMERATOR_, KEEL_DETAIL_IN_PARENS(Item))(Type, Item)
#define KEEL_DETAIL_ENUMERATOR_0(Type, Name) ::keel::detail::make_enum_name(Type::Name, #Name)
#define KEEL_DETAIL_ENUMERATOR_1(Type, Item) KEEL_DETAIL_CALL(KEEL_DETAIL_ENUMERATOR_WITH, Type, KEEL_DETAIL_OPEN Item)
#define KEEL_DETAIL_ENUMERATOR_WITH(Type, Name, Wire) ::keel::detail::make_enum_name(Type::Name, #Name, Wire)
