#pragma once

// JSON values, parsing and writing. See docs/json.md.
//
// A value either owns its contents (the usual case: copies are deep, moves are cheap) or borrows them from the document that
// parsed it. A copy of a borrowed value owns its contents: copy whatever must outlive the document.

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
KEEL_API bool operator==(const value& a, const value& b) noexcept;

namespace detail {
struct container;  // heap or arena block of an array or object: see src/json/container.hpp
struct builder;    // how the reader makes borrowed values
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
    /// Like find, but returns a null value if there is no such member: lookups can be chained.
    const value& operator[](std::string_view key) const noexcept;
    template <std::integral T>
    const value& operator[](T index) const = delete;  // use at(index); a literal 0 would be a null pointer key
    /// The element of an array. Throws json::error if the index is out of range or this is not an array.
    const value& at(std::size_t index) const;

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
    const parse_error& error() const noexcept { return error_; }
    /// Discards the value and releases the memory of a large text now instead of at the next read.
    void clear() noexcept;

private:
    struct arena;
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

/// A member of an object. The key is a value because it may be borrowed.
struct KEEL_API member {
    std::string_view key() const noexcept { return *name.if_string(); }
    value name;
    value content;
};

}  // namespace keel::json
