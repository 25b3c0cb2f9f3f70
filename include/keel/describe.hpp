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

// The loops, in src/describe.
KEEL_API json::value encode(const type_table&, const void* from, const encode_filter* = nullptr);
KEEL_API bool write_json(std::string& out, const type_table&, const void* from);
KEEL_API bool decode(const type_table&, const json::value&, void* into, decode_error&, std::string_view prefix);
[[noreturn]] KEEL_API void throw_decode_error(const decode_error&);
KEEL_API json::value schema_of(const type_table&);

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
