#pragma once

// Structs as JSON: KEEL_DESCRIBE lists the members of a struct; Keel then encodes it, decodes it and generates its JSON Schema.
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
// See docs/describe.md. The templates here only turn types into tables; the code that uses the tables is in src/describe.

#include <keel/decode_error.hpp>
#include <keel/describe/macros.hpp>
#include <keel/describe/options.hpp>
#include <keel/describe/tables.hpp>
#include <keel/describe/types.hpp>
#include <keel/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace keel::inline KEEL_ABI {

namespace detail {

// In src/describe.
KEEL_API json::value encode(const type_table&, const void* from, const encode_filter* = nullptr);
KEEL_API bool write_json(std::string& out, const type_table&, const void* from);
KEEL_API bool decode(const type_table&, const json::value&, void* into, decode_error&, std::string_view prefix);
[[noreturn]] KEEL_API void throw_decode_error(const decode_error&);
KEEL_API json::value schema_of(const type_table&);
/// Decodes as decode does, but continues after an error. The number and total size of the errors are limited.
KEEL_API std::vector<decode_error> all_decode_errors(const type_table&, const json::value&, void* into,
                                                     std::string_view prefix);
/// Whether decode checks everything that the schema requires. It does not check `pattern`, `format` and the schemas of codecs.
KEEL_API bool decoding_checks_all(const type_table&);

}  // namespace detail

/// Converts a described struct, or any type that a member may have, to JSON. Empty optionals are left out of objects. NaN,
/// infinity and invalid UTF-8 are detected only when the value is written.
template <class T>
json::value encode(const T& from) {
    return detail::encode(detail::type_for<T>, std::addressof(from));
}

/// Appends `from` to `out` as JSON text, without creating a json::value. Returns false, and leaves `out` unchanged, if JSON
/// cannot represent it (NaN, infinity, invalid UTF-8).
template <class T>
[[nodiscard]] bool write_json(std::string& out, const T& from) {
    return detail::write_json(out, detail::type_for<T>, std::addressof(from));
}

/// Decodes `from` into `into`. Optional members that are missing keep their value; unknown members are ignored. If it returns
/// false, `error` contains the path (starting with `prefix`) and the cause, and `into` may be partly filled.
template <class T>
[[nodiscard]] bool decode(const json::value& from, T& into, decode_error& error, std::string_view prefix = {}) {
    return detail::decode(detail::type_for<T>, from, std::addressof(into), error, prefix);
}

/// Same, but returns the decoded object. Throws json::error if `from` is invalid.
template <class T>
T decode(const json::value& from, std::string_view prefix = {}) {
    T into{};
    decode_error error;
    if (!detail::decode(detail::type_for<T>, from, std::addressof(into), error, prefix)) {
        detail::throw_decode_error(error);
    }
    return into;
}

/// Returns the JSON Schema (2020-12) of the values that decode accepts and encode produces. Generated at each call.
template <class T>
json::value schema_of() {
    return detail::schema_of(detail::type_for<T>);
}

}  // namespace keel

// At the end of the file and only for g++ 12, which destroys a temporary struct twice if the call is part of a co_await.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
namespace keel::inline KEEL_ABI {

template <class T>
    requires(!std::is_lvalue_reference_v<T> && std::is_aggregate_v<T> && !std::is_trivially_destructible_v<T>)
json::value encode(T&&) {
    static_assert(
        std::is_lvalue_reference_v<T>,
        "keel: g++ 12 destroys a temporary struct twice in a co_await: give the value to encode a name first");
    return {};
}

}  // namespace keel
#endif
