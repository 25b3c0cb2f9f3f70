#pragma once

// JSON values, reading and writing. See docs/json.md for a tour.
//
// There is one value type. A value either owns what it holds (the usual case: it copies deeply, moves cheaply) or
// borrows it from the document that read it. Copying a borrowed value makes an owned one, so whatever outlives a
// document is simply copied out of it.

#include <keel/version.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace keel::inline KEEL_ABI::json {

/// Thrown by the convenience functions: a wrong kind, text that is not JSON, a number that JSON cannot express.
class KEEL_API error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    ~error() override;
};

enum class kind : std::uint8_t { null, boolean, integer, unsigned_integer, real, string, array, object };

/// The word used in messages: "string", "array", … (all three number kinds are "number" or "integer").
KEEL_API std::string_view name_of(kind) noexcept;

struct member;
class value;
KEEL_API bool operator==(const value& a, const value& b) noexcept;

namespace detail {
struct container;  // heap or arena block of an array or object: see src/json/container.hpp
struct builder;    // how the reader makes borrowed values
}  // namespace detail

/// Integers are exact from -2^63 to 2^64-1. `unsigned_integer` is used only for what does not fit a signed one.
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
    // A template so that nothing else (a char, an enumerator, a bit of vector<bool>) becomes a number by conversion.
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

    // What the value is, or nothing when it is something else.
    std::optional<bool> if_bool() const noexcept { return is_bool() ? std::optional(bool_) : std::nullopt; }
    /// Integers that fit; a real with an integral value does not count.
    std::optional<std::int64_t> if_int() const noexcept {
        return kind_ == kind::integer ? std::optional(int_) : std::nullopt;
    }
    std::optional<std::uint64_t> if_uint() const noexcept;
    /// Any number.
    std::optional<double> if_double() const noexcept;
    std::optional<std::string_view> if_string() const noexcept {
        return is_string() ? std::optional(std::string_view(text_, size_)) : std::nullopt;
    }

    // The same, throwing json::error ("expected string, found array").
    bool as_bool() const;
    std::int64_t as_int() const;
    std::uint64_t as_uint() const;
    double as_double() const;
    std::string_view as_string() const;

    /// Elements of an array, members of an object; 0 for anything else.
    std::size_t size() const noexcept { return kind_ >= kind::array ? size_ : 0; }
    bool empty() const noexcept { return size() == 0; }

    // The forms without const let an owned value be changed in place. Do not assign an owned value into a borrowed one
    // (it would not be destroyed) nor the reverse (it would dangle): set and push_back sort that out, these cannot.

    /// The elements of an array; nothing for anything else.
    std::span<const value> items() const noexcept;
    std::span<value> items() noexcept;
    /// The members of an object in their order; nothing for anything else. Keys are unique.
    std::span<const member> members() const noexcept;
    std::span<member> members() noexcept;

    /// The member of that name, or nullptr (also when this is no object). The key may hold any characters.
    const value* find(std::string_view key) const noexcept;
    value* find(std::string_view key) noexcept;
    bool contains(std::string_view key) const noexcept { return find(key) != nullptr; }
    /// Like find, with a null value where there is none, so that look-ups can be chained.
    const value& operator[](std::string_view key) const noexcept;
    template <std::integral T>
    const value& operator[](T index) const = delete;  // at(index); a literal 0 would be a null key otherwise
    /// The element of an array. Throws json::error when there is none.
    const value& at(std::size_t index) const;

    // The functions that add something return what is now stored, a reference good until the next one is added. Adding
    // to a borrowed value makes it an owned one first.

    /// Inserts or replaces (in its place). A null becomes an object first; anything else throws json::error. Looks at
    /// every member: to fill objects of thousands of members use append.
    value& set(std::string_view key, value v);
    /// Appends without looking for a member of that name: for keys known to be new.
    value& append(std::string_view key, value v);
    /// True when there was such a member. The others keep their order.
    bool erase(std::string_view key) noexcept;
    /// Appends. A null becomes an array first; anything else throws json::error.
    value& push_back(value v);
    /// Room for n elements or members in all. Nothing happens to a null; anything else throws json::error.
    void reserve(std::size_t n);

    /// Numbers are equal when their mathematical values are; objects regardless of the order of their members. NaN
    /// equals nothing.
    friend bool operator==(const value& a, const value& b) noexcept;

    /// True when this value, or something in it, belongs to a document.
    bool borrowed() const noexcept { return borrowed_; }

private:
    friend struct detail::builder;
    friend struct detail::container;
    friend value array(std::initializer_list<value>);
    friend value object(std::initializer_list<std::pair<std::string_view, value>>);

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

/// `json::array({1, "two", nullptr})`
KEEL_API value array(std::initializer_list<value> items = {});
/// `json::object({{"name", "x"}, {"size", 3}})`; the last of two equal keys wins.
KEEL_API value object(std::initializer_list<std::pair<std::string_view, value>> members = {});

struct KEEL_API parse_options {
    std::size_t max_depth = 512;  // deeper nesting is an error
};

struct KEEL_API parse_error {
    std::size_t offset =
        0;  // of the first byte that cannot be right; of the first digit or sign if a number is too large
    const char* what = "";  // a short constant text: "invalid UTF-8", "nested too deeply", …
};

/// Reads text into memory that is reused from one text to the next. The values borrow: they are good until the
/// next call of read or the end of the document, and only as long as the text itself (strings without escapes point
/// into it). Not for several threads at once.
class KEEL_API document {
public:
    document();
    ~document();
    document(const document&) = delete;
    document& operator=(const document&) = delete;

    /// The value, or nullptr: error() then says why. One JSON text (RFC 8259) with optional white space around it.
    /// Strict: UTF-8 is checked and never repaired, numbers too large for a double are refused, of members with the
    /// same name the last one wins (in the place of the first), integers beyond 64 bits become doubles, -0 is a real.
    /// A byte order mark is an error here. Throws nothing but std::bad_alloc.
    const value* read(std::string_view text, const parse_options& = {});
    const parse_error& error() const noexcept { return error_; }
    /// Forgets the value, and gives back the memory of a large text now instead of at the next read.
    void clear() noexcept;

private:
    struct arena;
    arena* arena_;
    value root_;
    parse_error error_;
};

/// An owned value. Throws json::error with offset and reason.
KEEL_API value parse(std::string_view text, const parse_options& = {});

/// Appends the text of a value, without white space and without any raw newline. False when the value holds something
/// that JSON cannot express (NaN, infinity) or a string that is not UTF-8: `out` is then as it was before.
[[nodiscard]] KEEL_API bool write(std::string& out, const value& v);
/// The text as a string; throws json::error where write returns false.
KEEL_API std::string to_string(const value& v);

// The parts of a text, for code that writes messages without building a value first.
/// Appends a quoted, escaped string. False (and nothing appended) when `text` is not UTF-8.
[[nodiscard]] KEEL_API bool write_string(std::string& out, std::string_view text);
KEEL_API void write_int(std::string& out, std::int64_t n);
KEEL_API void write_uint(std::string& out, std::uint64_t n);
/// The fewest digits that read back as the same double, and as a real: 3.0, 0.1, 100000.0, 1e+300. False for NaN and
/// infinity.
[[nodiscard]] KEEL_API bool write_double(std::string& out, double d);

/// True when the bytes are well-formed UTF-8 (no surrogates, no overlong forms, at most U+10FFFF).
KEEL_API bool is_utf8(std::string_view text) noexcept;

/// A member of an object. The key is a string value so that it can be borrowed too.
struct KEEL_API member {
    std::string_view key() const noexcept { return *name.if_string(); }
    value name;
    value content;
};

}  // namespace keel::json
