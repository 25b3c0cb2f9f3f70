#pragma once

// JSON values, parsing and writing. See docs/json.md.
//
//     json::value trip = json::object("from", "Oslo", "stops", 2);
//     trip["to"] = "Bergen";
//     if (trip["from"] == "Oslo") …
//     for (const auto& [key, content] : trip.members()) …
//
// A value either owns its contents (the usual case: copies are deep, moves are cheap) or borrows them from the document that
// parsed it. A copy of a borrowed value owns its contents: copy whatever must outlive the document.

#include <keel/version.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace keel::inline KEEL_ABI::json {

/// Thrown by the functions that do not return an optional or bool: wrong kind, invalid JSON, a number that JSON cannot represent.
class KEEL_API error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    ~error() override;
};

enum class kind : std::uint8_t { null, boolean, integer, unsigned_integer, real, string, array, object };

/// The name for error messages: "string", "array", …; the three number kinds are "number" or "integer".
KEEL_API std::string_view name_of(kind) noexcept;

struct member;
class value;
class member_ref;
KEEL_API bool operator==(const value& a, const value& b) noexcept;

namespace detail {
struct container;  // heap or arena block of an array or object: see src/json/container.hpp
struct builder;    // how the reader makes borrowed values

/// Iterates over the elements of an array, or over the contents of the members of an object.
template <class Value>
class value_iterator {
public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::remove_const_t<Value>;
    using difference_type = std::ptrdiff_t;
    using pointer = Value*;
    using reference = Value&;

    value_iterator() noexcept = default;
    value_iterator(Value* at, std::ptrdiff_t step) noexcept : at_(at), step_(step) {}

    Value& operator*() const noexcept { return *at_; }
    Value* operator->() const noexcept { return at_; }
    value_iterator& operator++() noexcept {
        at_ += step_;
        return *this;
    }
    value_iterator operator++(int) noexcept {
        value_iterator before = *this;
        at_ += step_;
        return before;
    }
    friend bool operator==(const value_iterator& a, const value_iterator& b) noexcept { return a.at_ == b.at_; }

private:
    Value* at_ = nullptr;
    std::ptrdiff_t step_ = 1;  // the contents of members have their names between them
};

template <class T>
concept text_like = std::is_convertible_v<const T&, std::string_view> && !std::is_same_v<T, std::nullptr_t>;
/// What value_or can return: bool, a number or a string.
template <class T>
concept plain = std::is_arithmetic_v<T> || text_like<T>;
}  // namespace detail

/// A JSON value. Integers are exact from -2^63 to 2^64-1; `unsigned_integer` is used only for those above 2^63-1.
/// Thread-safety: as for standard containers.
class KEEL_API value {
public:
    value() noexcept : int_(0) {}
    value(std::nullptr_t) noexcept : int_(0) {}
    template <class T>
        requires std::same_as<T, bool>
    value(T b) noexcept : kind_(kind::boolean), int_(0) {
        bool_ = b;
    }
    template <class T>
        requires(std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> && !std::same_as<T, wchar_t> &&
                 !std::same_as<T, char8_t> && !std::same_as<T, char16_t> && !std::same_as<T, char32_t>)
    value(T n) noexcept {
        if constexpr (std::unsigned_integral<T>) {
            set_unsigned(static_cast<std::uint64_t>(n));
        } else {
            kind_ = kind::integer;
            int_ = static_cast<std::int64_t>(n);
        }
    }
    // A template, so that no other type (char, an enum, a reference of vector<bool>) is converted implicitly.
    template <std::floating_point T>
    value(T d) noexcept : kind_(kind::real), real_(static_cast<double>(d)) {}
    value(std::string_view text);
    value(const std::string& text) : value(std::string_view(text)) {}
    value(const char* text) : value(std::string_view(text)) {}

    value(const value& other) : int_(0) { copy_from(other); }
    value(value&& other) noexcept
        : kind_(other.kind_), borrowed_(other.borrowed_), size_(other.size_), int_(other.int_) {
        other.forget();
    }
    value& operator=(const value& other);
    value& operator=(value&& other) noexcept;
    ~value() {
        if (kind_ >= kind::string && !borrowed_) release();
    }

    kind type() const noexcept { return kind_; }
    bool is_null() const noexcept { return kind_ == kind::null; }
    bool is_bool() const noexcept { return kind_ == kind::boolean; }
    bool is_integer() const noexcept { return kind_ == kind::integer || kind_ == kind::unsigned_integer; }
    bool is_number() const noexcept { return is_integer() || kind_ == kind::real; }
    bool is_string() const noexcept { return kind_ == kind::string; }
    bool is_array() const noexcept { return kind_ == kind::array; }
    bool is_object() const noexcept { return kind_ == kind::object; }

    // The value, or nullopt if it is of another kind.
    std::optional<bool> if_bool() const noexcept { return is_bool() ? std::optional(bool_) : std::nullopt; }
    /// An integer that fits. A real with an integral value is not an integer.
    std::optional<std::int64_t> if_int() const noexcept {
        return kind_ == kind::integer ? std::optional(int_) : std::nullopt;
    }
    std::optional<std::uint64_t> if_uint() const noexcept;
    /// Any number.
    std::optional<double> if_double() const noexcept;
    std::optional<std::string_view> if_string() const noexcept {
        return is_string() ? std::optional(std::string_view(text_, size_)) : std::nullopt;
    }

    // Same, but throws json::error for another kind ("expected string, found array").
    bool as_bool() const;
    std::int64_t as_int() const;
    std::uint64_t as_uint() const;
    double as_double() const;
    std::string_view as_string() const;

    /// The number of elements of an array or members of an object; 0 for other kinds.
    std::size_t size() const noexcept { return kind_ >= kind::array ? size_ : 0; }
    bool empty() const noexcept { return size() == 0; }

    // The non-const overloads change an owned value in place. Do not assign an owned element to a borrowed array or object (it
    // would leak), nor the reverse (it would dangle): use set and push_back, which handle both.

    // `for (const json::value& x : v)`: the elements of an array, or the contents of the members of an object; nothing for other
    // kinds. With names: `for (const auto& [key, content] : v.members())`.
    using iterator = detail::value_iterator<value>;
    using const_iterator = detail::value_iterator<const value>;
    const_iterator begin() const noexcept;
    const_iterator end() const noexcept;
    iterator begin() noexcept;
    iterator end() noexcept;

    /// The elements of an array; empty for other kinds.
    std::span<const value> items() const noexcept;
    std::span<value> items() noexcept;
    /// The members of an object in order; empty for other kinds. Keys are unique.
    std::span<const member> members() const noexcept;
    std::span<member> members() noexcept;

    /// The member with this key, or nullptr if there is none or this is not an object.
    const value* find(std::string_view key) const noexcept;
    value* find(std::string_view key) noexcept;
    bool contains(std::string_view key) const noexcept { return find(key) != nullptr; }
    /// Reads a member. Returns a null value if there is no such member or this is not an object: lookups can be chained.
    const value& operator[](std::string_view key) const& noexcept;
    /// Same, and `v["a"] = 1;` inserts or replaces the member, as set does. Reading never inserts anything.
    member_ref operator[](std::string_view key) & noexcept;
    template <std::integral T>
    const value& operator[](T index) const = delete;  // use at(index); a literal 0 would be a null pointer key
    /// The element of an array. Throws json::error if the index is out of range or this is not an array.
    const value& at(std::size_t index) const;
    value& at(std::size_t index);

    /// The contents of this value, or `fallback` if it is null. The type of `fallback` selects the type of the result: bool, a number,
    /// or std::string. Throws json::error if the value is of another kind or out of range. As for decode, 3.0 is an integer.
    template <detail::plain T>
    auto value_or(const T& fallback) const {
        if constexpr (std::is_same_v<T, bool>) {
            return is_null() ? fallback : as_bool();
        } else if constexpr (std::is_floating_point_v<T>) {
            return is_null() ? fallback : static_cast<T>(as_double());
        } else if constexpr (std::is_arithmetic_v<T>) {
            if (is_null()) return fallback;
            if constexpr (std::is_signed_v<T>) {
                return static_cast<T>(whole_number(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
            } else {
                return static_cast<T>(whole_number(std::numeric_limits<T>::max()));
            }
        } else {
            return std::string(is_null() ? std::string_view(fallback) : as_string());
        }
    }
    /// Same for a member: `v.value_or("count", 1)`. A missing member is null.
    template <detail::plain T>
    auto value_or(std::string_view key, const T& fallback) const {
        return (*this)[key].value_or(fallback);
    }

    // The functions that add a value return a reference to the stored value, valid until the next one is added. A borrowed value
    // becomes an owned one first.

    /// Inserts or replaces a member; a replaced member keeps its position. A null value becomes an object; other kinds throw
    /// json::error. Takes linear time: use append to fill large objects.
    value& set(std::string_view key, value v);
    /// Appends a member without searching for the key, which must be new.
    value& append(std::string_view key, value v);
    /// Removes a member. Returns false if there is none. The other members keep their order.
    bool erase(std::string_view key) noexcept;
    /// Appends an element. A null value becomes an array; other kinds throw json::error.
    value& push_back(value v);
    /// Reserves memory for n elements or members in total. Does nothing for null; throws json::error for other kinds.
    void reserve(std::size_t n);

    /// Compares numbers by mathematical value and objects regardless of the order of members. NaN equals nothing.
    friend bool operator==(const value& a, const value& b) noexcept;

    /// True if this value or a part of it borrows from a document.
    bool borrowed() const noexcept { return borrowed_; }

private:
    friend class member_ref;
    friend struct detail::builder;
    friend struct detail::container;
    friend value array(std::initializer_list<value>);
    friend value object(std::initializer_list<std::pair<std::string_view, value>>);

    value& slot(std::string_view key);  // the member, created as null if there is none
    std::int64_t whole_number(std::int64_t least, std::int64_t most) const;
    std::uint64_t whole_number(std::uint64_t most) const;
    void set_unsigned(std::uint64_t n) noexcept {
        kind_ = n <= static_cast<std::uint64_t>(INT64_MAX) ? kind::integer : kind::unsigned_integer;
        uint_ = n;
    }
    void forget() noexcept {
        kind_ = kind::null;
        borrowed_ = false;
        size_ = 0;
        int_ = 0;
    }
    void copy_from(const value& other);
    void release() noexcept;

    kind kind_ = kind::null;
    bool borrowed_ = false;
    std::uint32_t size_ = 0;  // bytes of a string, elements of an array, members of an object
    union {
        bool bool_;
        std::int64_t int_;
        std::uint64_t uint_;
        double real_;
        const char* text_;
        detail::container* container_;
    };
};

static_assert(sizeof(value) == 16);

/// `v["currency"] == "USD"`: the value is this string.
template <detail::text_like T>
bool operator==(const value& a, const T& text) noexcept {
    const auto found = a.if_string();
    return found && *found == std::string_view(text);
}

/// A member of a value that is not const: `v["a"]`. It reads like a `const value&`; a missing member is null. Assigning to it and
/// the functions that add something insert the member first, and the objects around it: `v["a"]["b"] = 1;`. They throw json::error
/// where there is a value that is neither an object nor null. Valid until the value changes.
class KEEL_API member_ref {
public:
    member_ref(member_ref&&) noexcept = default;
    ~member_ref() = default;

    operator const value&() const noexcept { return *found_; }

    value& operator=(value v) && { return slot() = std::move(v); }
    // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): it assigns a copy
    value& operator=(const member_ref& other) && { return std::move(*this) = value(*other.found_); }
    value& set(std::string_view key, value v) && { return slot().set(key, std::move(v)); }
    value& append(std::string_view key, value v) && { return slot().append(key, std::move(v)); }
    value& push_back(value v) && { return slot().push_back(std::move(v)); }
    bool erase(std::string_view key) && { return found_->contains(key) && slot().erase(key); }
    member_ref operator[](std::string_view key) && noexcept { return {*this, key}; }
    const value& operator[](std::string_view key) const& noexcept { return (*found_)[key]; }
    template <std::integral T>
    const value& operator[](T index) const = delete;  // see value

    kind type() const noexcept { return found_->type(); }
    bool is_null() const noexcept { return found_->is_null(); }
    bool is_bool() const noexcept { return found_->is_bool(); }
    bool is_integer() const noexcept { return found_->is_integer(); }
    bool is_number() const noexcept { return found_->is_number(); }
    bool is_string() const noexcept { return found_->is_string(); }
    bool is_array() const noexcept { return found_->is_array(); }
    bool is_object() const noexcept { return found_->is_object(); }
    std::optional<bool> if_bool() const noexcept { return found_->if_bool(); }
    std::optional<std::int64_t> if_int() const noexcept { return found_->if_int(); }
    std::optional<std::uint64_t> if_uint() const noexcept { return found_->if_uint(); }
    std::optional<double> if_double() const noexcept { return found_->if_double(); }
    std::optional<std::string_view> if_string() const noexcept { return found_->if_string(); }
    bool as_bool() const { return found_->as_bool(); }
    std::int64_t as_int() const { return found_->as_int(); }
    std::uint64_t as_uint() const { return found_->as_uint(); }
    double as_double() const { return found_->as_double(); }
    std::string_view as_string() const { return found_->as_string(); }
    template <detail::plain T>
    auto value_or(const T& fallback) const {
        return found_->value_or(fallback);
    }
    template <detail::plain T>
    auto value_or(std::string_view key, const T& fallback) const {
        return found_->value_or(key, fallback);
    }
    std::size_t size() const noexcept { return found_->size(); }
    bool empty() const noexcept { return found_->empty(); }
    std::span<const value> items() const noexcept { return found_->items(); }
    std::span<const member> members() const noexcept { return found_->members(); }
    value::const_iterator begin() const noexcept { return found_->begin(); }
    value::const_iterator end() const noexcept { return found_->end(); }
    const value* find(std::string_view key) const noexcept { return found_->find(key); }
    bool contains(std::string_view key) const noexcept { return found_->contains(key); }
    const value& at(std::size_t index) const { return found_->at(index); }
    bool borrowed() const noexcept { return found_->borrowed(); }

private:
    friend class value;
    member_ref(value& owner, std::string_view key) noexcept
        : owner_(&owner), key_(key), found_(&std::as_const(owner)[key]) {}
    member_ref(const member_ref& parent, std::string_view key) noexcept
        : parent_(&parent), key_(key), found_(&(*parent.found_)[key]) {}
    // From the owner down, since a borrowed owner is copied first. The functions that call it need a temporary, whose parents still
    // exist.
    value& slot() const { return (parent_ != nullptr ? parent_->slot() : *owner_).slot(key_); }

    value* owner_ = nullptr;  // null: a member of the member `parent_`
    const member_ref* parent_ = nullptr;
    std::string_view key_;
    const value* found_;  // never null
};

inline member_ref value::operator[](std::string_view key) & noexcept { return {*this, key}; }

KEEL_API value array(std::initializer_list<value> items = {});
KEEL_API value object(std::initializer_list<std::pair<std::string_view, value>> members = {});

namespace detail {
// These move the values out of `parts`.
KEEL_API value array_of(value* parts, std::size_t count);
KEEL_API value object_of(value* names_and_contents, std::size_t count);

template <bool Name, class... Parts>
struct names_in_turn : std::true_type {};
template <class Part, class... Rest>
struct names_in_turn<true, Part, Rest...>
    : std::bool_constant<text_like<std::remove_cvref_t<Part>> && names_in_turn<false, Rest...>::value> {};
template <class Part, class... Rest>
struct names_in_turn<false, Part, Rest...> : names_in_turn<true, Rest...> {};
}  // namespace detail

// The forms without braces can be used within a co_await; with g++ 12 the braces do not compile there.

/// `json::array(1, "two", nullptr)`
template <class... Items>
    requires(sizeof...(Items) > 0 && (std::is_convertible_v<Items, value> && ...))
value array(Items&&... items) {
    value parts[] = {std::forward<Items>(items)...};
    return detail::array_of(parts, sizeof...(Items));
}

/// `json::object("name", "x", "size", 3)`: names and contents in turn. The last of two equal names wins.
template <class Content, class... More>
    requires(std::is_convertible_v<Content, value>)
value object(std::string_view name, Content&& content, More&&... more) {
    constexpr bool valid = sizeof...(More) % 2 == 0 && detail::names_in_turn<true, More...>::value &&
                           (std::is_convertible_v<More, value> && ...);
    static_assert(valid, "keel: json::object takes names and contents in turn: json::object(\"a\", 1, \"b\", 2)");
    if constexpr (valid) {
        value parts[] = {value(name), std::forward<Content>(content), std::forward<More>(more)...};
        return detail::object_of(parts, sizeof...(More) + 2);
    }
}

struct KEEL_API parse_options {
    std::size_t max_depth = 512;  // deeper nesting is an error
};

struct KEEL_API parse_error {
    std::size_t offset = 0;  // of the first invalid byte, or of the start of a number that is too large
    const char* what = "";   // a short constant text: "invalid UTF-8", "nested too deeply", …
};

/// A parser that reuses its memory. The values borrow from the document and from the parsed text (strings without escapes point
/// into it): both must outlive them, and the next read() invalidates them. Not thread-safe.
class KEEL_API document {
public:
    document();
    ~document();
    document(const document&) = delete;
    document& operator=(const document&) = delete;

    /// Parses one JSON text (RFC 8259). Returns nullptr if it is invalid; see error(). Invalid UTF-8, a byte order mark and numbers
    /// too large for a double are errors. Of members with the same name the last wins, at the position of the first. Integers
    /// beyond 64 bits become doubles; -0 is a real. Throws only std::bad_alloc.
    const value* read(std::string_view text, const parse_options& = {});
    /// The same for a text that may be overwritten: strings with escapes are decoded where they are, without further memory.
    const value* read_in_place(char* text, std::size_t size, const parse_options& = {});
    const parse_error& error() const noexcept { return error_; }
    /// Discards the value and releases the memory of a large text now instead of at the next read.
    void clear() noexcept;

private:
    struct arena;
    const value* read(std::string_view text, bool in_place, const parse_options&);

    arena* arena_;
    value root_;
    parse_error error_;
};

/// Parses a text into an owned value. Throws json::error with the offset and the cause.
KEEL_API value parse(std::string_view text, const parse_options& = {});

/// Appends the JSON text of a value, without white space and newlines. Returns false, and leaves `out` unchanged, if JSON cannot
/// represent the value (NaN, infinity, invalid UTF-8).
[[nodiscard]] KEEL_API bool write(std::string& out, const value& v);
/// Returns the JSON text of a value. Throws json::error if JSON cannot represent it.
KEEL_API std::string to_string(const value& v);

// For code that writes JSON text without creating a value.
/// Appends a quoted, escaped string. Returns false, and leaves `out` unchanged, if `text` is invalid UTF-8.
[[nodiscard]] KEEL_API bool write_string(std::string& out, std::string_view text);
KEEL_API void write_int(std::string& out, std::int64_t n);
KEEL_API void write_uint(std::string& out, std::uint64_t n);
/// Appends the shortest text that parses as the same real: 3.0, 0.1, 100000.0, 1e+300. Returns false for NaN and infinity.
[[nodiscard]] KEEL_API bool write_double(std::string& out, double d);

/// True if the bytes are valid UTF-8 (no surrogates, no overlong forms, at most U+10FFFF).
KEEL_API bool is_utf8(std::string_view text) noexcept;

/// A member of an object. The key is a value because it may be borrowed. `const auto& [key, content] = m;` gives a std::string_view
/// and a value.
struct KEEL_API member {
    std::string_view key() const noexcept { return *name.if_string(); }
    value name;
    value content;

    template <std::size_t I>
    friend decltype(auto) get(const member& m) noexcept {
        if constexpr (I == 0) return m.key();
        else return (m.content);
    }
    template <std::size_t I>
        requires(I == 1)
    friend value& get(member& m) noexcept {
        return m.content;
    }
    template <std::size_t I>
        requires(I == 1)
    friend value&& get(member&& m) noexcept {
        return std::move(m.content);
    }
};

inline value::const_iterator value::begin() const noexcept {
    if (kind_ == kind::object) return {size_ != 0 ? &members().data()->content : nullptr, 2};
    return {items().data(), 1};
}
inline value::const_iterator value::end() const noexcept {
    if (kind_ == kind::object)
        return {size_ != 0 ? &members().data()->content + std::ptrdiff_t{size_} * 2 : nullptr, 2};
    return {items().data() + items().size(), 1};
}
inline value::iterator value::begin() noexcept {
    if (kind_ == kind::object) return {size_ != 0 ? &members().data()->content : nullptr, 2};
    return {items().data(), 1};
}
inline value::iterator value::end() noexcept {
    if (kind_ == kind::object)
        return {size_ != 0 ? &members().data()->content + std::ptrdiff_t{size_} * 2 : nullptr, 2};
    return {items().data() + items().size(), 1};
}

}  // namespace keel::json

template <>
struct std::tuple_size<keel::json::member> : std::integral_constant<std::size_t, 2> {};
template <>
struct std::tuple_element<0, keel::json::member> {
    using type = std::string_view;
};
template <>
struct std::tuple_element<1, keel::json::member> {
    using type = keel::json::value;
};
