#pragma once

// Creates the tables of types.

#include <keel/describe/options.hpp>
#include <keel/describe/tables.hpp>

#include <array>
#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace keel::inline KEEL_ABI::detail {

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
struct owner_access {  // std::unique_ptr, recognized by its members to avoid including <memory>
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

template <class T>
struct set_access {
    static bool each(const void* p, void* context, set_ops::visitor visit) {
        for (const auto& element : *static_cast<const T*>(p)) {
            if (!visit(context, std::addressof(element))) return false;
        }
        return true;
    }
    static void clear(void* p) noexcept { static_cast<T*>(p)->clear(); }
    static set_ops::outcome insert(void* p, void* context, set_ops::filler fill) {
        typename T::key_type element{};
        if (!fill(context, std::addressof(element))) return set_ops::outcome::failed;
        const bool added = static_cast<T*>(p)->insert(std::move(element)).second;
        return added ? set_ops::outcome::added : set_ops::outcome::duplicate;
    }
    static constexpr set_ops ops{&each, &clear, &insert};
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
struct self_access {
    static json::value encode(const void* p) { return keel_encode(*static_cast<const T*>(p)); }
    static bool write(std::string& out, const void* p) {
        if constexpr (requires(const T& from) {
                          { keel_write_json(out, from) } -> std::same_as<bool>;
                      }) {
            return keel_write_json(out, *static_cast<const T*>(p));
        } else {
            return json::write(out, keel_encode(*static_cast<const T*>(p)));
        }
    }
    static bool decode(const json::value& v, void* p, decode_error& e) {
        return keel_decode(v, *static_cast<T*>(p), e);
    }
    static constexpr self_ops ops{&encode, &write, &decode};
};

template <class T>
struct codec_access {
    static json::value encode(const void* p) { return codec<T>::encode(*static_cast<const T*>(p)); }
    static bool write(std::string& out, const void* p) { return json::write(out, encode(p)); }
    static bool decode(const json::value& v, void* p, decode_error& e) {
        return codec<T>::decode(v, *static_cast<T*>(p), e);
    }
    static json::value schema() {
        if constexpr (requires { codec<T>::schema(); }) return codec<T>::schema();
        else return json::object();
    }
    static constexpr self_ops ops{&encode, &write, &decode, &schema};
};

// ---- times and paths: recognized by their members to avoid including <chrono> and <filesystem> ----

/// Seconds per tick, as in std::ratio.
struct tick_length {
    std::int64_t num;
    std::int64_t den;
};
struct calendar_date {
    int year;
    unsigned month;
    unsigned day;
};

// In src/describe/times.cpp. The encoders throw json::error if the value has no JSON form.
KEEL_API std::string duration_text(std::int64_t count, tick_length unit);  // "PT1H30M"
KEEL_API std::string time_text(std::int64_t count, tick_length unit);      // "2026-07-28T12:00:00.5Z", or a date
KEEL_API std::string date_text(calendar_date date);                        // "2026-07-28"
KEEL_API bool decode_duration(const json::value&, tick_length unit, std::int64_t& count, decode_error&);
KEEL_API bool decode_time(const json::value&, tick_length unit, std::int64_t& count, decode_error&);
KEEL_API bool decode_date(const json::value&, calendar_date& date, decode_error&);
KEEL_API bool decode_path(const json::value&, std::string& text, decode_error&);
KEEL_API bool out_of_range(decode_error&, const json::value& found);
KEEL_API json::value text_schema(const char* format);
/// Calls `text`, which may throw json::error: write_json returns false then.
KEEL_API bool write_text_form(std::string& out, std::string (*text)(const void*), const void* p);

inline constexpr tick_length nanoseconds{1, 1'000'000'000};

template <class T>
concept duration_like = requires(const T& d) {
    typename T::rep;
    T::period::num;
    { d.count() } -> std::same_as<typename T::rep>;
};
template <class T>
concept time_like = requires(const T& t) {
    typename T::clock;
    typename T::duration;
    { t.time_since_epoch() } -> std::same_as<typename T::duration>;
};
template <class T>
concept date_like = requires(const T& d) {
    { d.ok() } -> std::same_as<bool>;
    static_cast<int>(d.year());
    static_cast<unsigned>(d.month());
    static_cast<unsigned>(d.day());
};
template <class T>
concept path_like = requires(const T& p) {
    { p.native() } -> std::same_as<const std::string&>;
    p.lexically_normal();
};

template <class Text>
struct text_access {
    static json::value encode(const void* p) { return Text::text(p); }
    static bool write(std::string& out, const void* p) { return write_text_form(out, &Text::text, p); }
    static json::value schema() { return text_schema(Text::format()); }
    static constexpr self_ops ops{&encode, &write, &Text::decode, &schema, true};
};

template <class T>
struct duration_access {
    static constexpr bool exact = std::is_integral_v<typename T::rep>;
    static constexpr tick_length unit = exact ? tick_length{T::period::num, T::period::den} : nanoseconds;
    static constexpr double ticks = exact ? 1 : 1e9 * static_cast<double>(T::period::num) / T::period::den;
    // The format has no fractions (RFC 3339).
    static const char* format() noexcept { return unit.den == 1 ? "duration" : nullptr; }
    static std::string text(const void* p) {
        const auto count = static_cast<const T*>(p)->count();
        if constexpr (exact) {
            return duration_text(static_cast<std::int64_t>(count), unit);
        } else {
            const double exactly = static_cast<double>(count) * ticks;
            if (!(exactly > -9e18 && exactly < 9e18)) throw json::error("cannot encode a duration that is too long");
            return duration_text(static_cast<std::int64_t>(exactly), unit);
        }
    }
    static bool decode(const json::value& v, void* p, decode_error& e) {
        std::int64_t count = 0;
        if (!decode_duration(v, unit, count, e)) return false;
        using rep = typename T::rep;
        if constexpr (exact) {
            if (!std::in_range<rep>(count)) return out_of_range(e, v);
            *static_cast<T*>(p) = T(static_cast<rep>(count));
        } else {
            *static_cast<T*>(p) = T(static_cast<rep>(static_cast<double>(count) / ticks));
        }
        return true;
    }
};

template <class T>
struct time_access {
    using since = typename T::duration;
    static_assert(std::is_integral_v<typename since::rep>,
                  "keel: described times need an integer representation, such as std::chrono::sys_seconds");
    static_assert(requires { &T::clock::to_time_t; }, "keel: only times of std::chrono::system_clock can be described");
    static constexpr tick_length unit{since::period::num, since::period::den};
    static const char* format() noexcept { return unit.num == 86400 && unit.den == 1 ? "date" : "date-time"; }
    static std::string text(const void* p) {
        return time_text(static_cast<std::int64_t>(static_cast<const T*>(p)->time_since_epoch().count()), unit);
    }
    static bool decode(const json::value& v, void* p, decode_error& e) {
        std::int64_t count = 0;
        if (!decode_time(v, unit, count, e)) return false;
        using rep = typename since::rep;
        if (!std::in_range<rep>(count)) return out_of_range(e, v);
        *static_cast<T*>(p) = T(since(static_cast<rep>(count)));
        return true;
    }
};

template <class T>
struct date_access {
    static const char* format() noexcept { return "date"; }
    static std::string text(const void* p) {
        const T& d = *static_cast<const T*>(p);
        return date_text(
            {static_cast<int>(d.year()), static_cast<unsigned>(d.month()), static_cast<unsigned>(d.day())});
    }
    static bool decode(const json::value& v, void* p, decode_error& e) {
        calendar_date found{};
        if (!decode_date(v, found, e)) return false;
        T& into = *static_cast<T*>(p);
        into =
            T(decltype(into.year())(found.year), decltype(into.month())(found.month), decltype(into.day())(found.day));
        return true;
    }
};

template <class T>
struct path_access {
    static const char* format() noexcept { return nullptr; }
    static std::string text(const void* p) { return static_cast<const T*>(p)->native(); }
    static bool decode(const json::value& v, void* p, decode_error& e) {
        std::string text;
        if (!decode_path(v, text, e)) return false;
        *static_cast<T*>(p) = std::move(text);
        return true;
    }
};

template <class T>
concept written_as_text = duration_like<T> || time_like<T> || date_like<T> || path_like<T>;

template <class T>
constexpr const self_ops* text_ops() noexcept {
    if constexpr (time_like<T>) return &text_access<time_access<T>>::ops;
    else if constexpr (duration_like<T>) return &text_access<duration_access<T>>::ops;
    else if constexpr (date_like<T>) return &text_access<date_access<T>>::ops;
    else return &text_access<path_access<T>>::ops;
}

template <class T>
struct standard {  // all types without a specialization below
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
concept set_like =
    std::same_as<typename T::key_type, typename T::value_type> && requires(T& s, typename T::key_type&& k) {
        { s.insert(std::move(k)).second } -> std::same_as<bool&&>;
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
    else if constexpr (has_codec<T>) return shape::self;
    else if constexpr (std::is_enum_v<T>) return self_described<T> ? shape::self : shape::enumeration;
    else if constexpr (map_like<T>) return shape::map;
    else if constexpr (set_like<T>) return shape::set;
    else if constexpr (owner_like<T>) return shape::nullable;
    else if constexpr (standard<T>::kind != shape::object) return standard<T>::kind;
    else if constexpr (self_described<T> || written_as_text<T>) return shape::self;
    else return shape::object;
}

/// The shape that the options of a member apply to: for an optional number, the number.
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
        static_assert(never<T>,
                      "keel: std::string_view cannot be described (it would dangle): use std::string instead");
    } else if constexpr (character<T>) {
        static_assert(never<T>, "keel: character types cannot be described: use std::string or std::int8_t");
    } else if constexpr (std::is_same_v<T, long double>) {
        static_assert(never<T>, "keel: long double cannot be described: use double");
    } else if constexpr (has_codec<T>) {
        static_assert(valid_codec<T>,
                      "keel: a codec needs the functions json::value encode(const T&) and "
                      "bool decode(const json::value&, T&, keel::decode_error&)");
        if constexpr (valid_codec<T>) return {.kind = kind, .size = sizeof(T), .self = &codec_access<T>::ops};
    } else if constexpr (kind == shape::self) {
        if constexpr (self_described<T>) return {.kind = kind, .size = sizeof(T), .self = &self_access<T>::ops};
        else return {.kind = kind, .size = sizeof(T), .self = text_ops<T>()};
    } else if constexpr (std::is_enum_v<T>) {
        if constexpr (described_enum<T>) {
            return {.kind = kind, .size = sizeof(T), .names = &enum_table_of<T>};
        } else {
            static_assert(
                never<T>,
                "keel: this enum is not described: add KEEL_DESCRIBE_ENUM(type, enumerators...) after it, in the "
                "same namespace");
        }
    } else if constexpr (kind == shape::map) {
        if constexpr (std::is_same_v<typename T::key_type, std::string>) {
            return {.kind = kind, .element = &type_for<typename T::mapped_type>, .map = &map_access<T>::ops};
        } else {
            static_assert(never<T>, "keel: the keys of a described map must be std::string");
        }
    } else if constexpr (kind == shape::set) {
        return {
            .kind = kind, .size = sizeof(T), .element = &type_for<typename T::key_type>, .set = &set_access<T>::ops};
    } else if constexpr (owner_like<T>) {
        return {.kind = kind, .element = &type_for<typename T::element_type>, .nullable = &owner_access<T>::ops};
    } else if constexpr (kind == shape::object) {
        if constexpr (described<T>) {
            return {.kind = kind, .size = sizeof(T), .fields = &struct_table_of<T>};
        } else {
            static_assert(never<T>,
                          "keel: this type is not described: add KEEL_DESCRIBE(type, members...) after it, in the same "
                          "namespace, or specialize keel::codec for it");
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

template <class Struct, auto Member>
bool as_made(const void* member) noexcept {
    using content = std::remove_cvref_t<decltype(std::declval<Struct&>().*Member)>;
    static const content made = Struct{}.*Member;
    return *static_cast<const content*>(member) == made;
}

/// Shapes that omit_empty supports.
constexpr bool may_be_omitted(shape s) noexcept {
    return s != shape::object && s != shape::self && s != shape::array && s != shape::variant && s != shape::nullable &&
           s != shape::null;
}
constexpr bool is_scalar(shape s) noexcept {
    return s == shape::boolean || s == shape::integer || s == shape::real || s == shape::enumeration;
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

// A static function of a class template: for a member that does not exist, compilers report a function template with all candidates.
template <class Struct, auto Member>
struct field_of {
    template <class... Options>
    static constexpr field make(const char* name, const Options&... options) {
        using content = typename pointed_member<decltype(Member)>::type;
        if constexpr (!std::is_member_object_pointer_v<decltype(Member)>) {
            static_assert(never<Struct>, "keel: only data members can be described");
            return {};
        } else if constexpr (std::is_const_v<content>) {
            static_assert(never<Struct>, "keel: const members cannot be described: decode could not set them");
            return {};
        } else {
            constexpr shape kind = shape_within<content>();
            static_assert(!has_option<number_option, Options...> || kind == shape::integer || kind == shape::real,
                          "keel: minimum and maximum apply to numbers only");
            static_assert(!(has_option<length_option, Options...> || has_option<string_option, Options...>) ||
                              kind == shape::string,
                          "keel: min_length, max_length, format and pattern apply to strings only");
            static_assert(!has_option<items_option, Options...> || kind == shape::list || kind == shape::bits ||
                              kind == shape::set,
                          "keel: min_items and max_items apply to lists only");
            static_assert(!has_option<one_or_many_option, Options...> || shape_of<content>() == shape::list,
                          "keel: one_or_many applies to std::vector only");
            static_assert(
                !has_option<omit_empty_option, Options...> || may_be_omitted(shape_of<content>()),
                "keel: omit_empty applies to strings, lists, maps, json::value, enums, numbers and bool only; an "
                "empty std::optional is always omitted");
            static_assert(!has_option<rest_option, Options...> || std::is_same_v<content, json::value>,
                          "keel: rest applies to a json::value only, which collects the unknown members");
            field made{.wire = name, .type = &type_for<content>, .reach = &reach<Struct, Member>, .notes = {}};
            (apply(made.notes, options), ...);
            if (!made.notes.wire.empty()) made.wire = made.notes.wire;
            made.plain = needs_no_escapes(made.wire);
            const bool may_be_missing = made.notes.defaulted || made.notes.omit_empty || made.notes.rest;
            made.required = !may_be_missing && shape_of<content>() != shape::nullable;
            if constexpr (has_option<omit_empty_option, Options...> && is_scalar(shape_of<content>())) {
                made.as_made = &as_made<Struct, Member>;
            }
            return made;
        }
    }
};

template <class... Fields>
constexpr std::array<field, sizeof...(Fields)> make_fields(const Fields&... fields) {
    static_assert(sizeof...(Fields) <= 64, "keel: a described struct can have at most 64 members");
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

constexpr bool is_field_name(const field* first, std::size_t count, std::string_view name) {
    for (std::size_t i = 0; i < count; ++i) {
        if (first[i].wire == name) return true;
    }
    return false;
}

constexpr std::size_t count_rests(const field* first, std::size_t count) {
    std::size_t rests = 0;
    for (std::size_t i = 0; i < count; ++i) rests += first[i].notes.rest ? 1 : 0;
    return rests;
}

constexpr const field* find_rest(const field* first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        if (first[i].notes.rest) return first + i;
    }
    return nullptr;
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

}  // namespace keel::detail
