#pragma once

// Revision 2026-07-28 over HTTP repeats parts of a request in headers, so that intermediaries can route without reading
// the body. The server must reject a request whose headers differ from its body: otherwise a client could deceive
// intermediaries that trust the headers.

#include <keel/json.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace keel::inline KEEL_ABI::protocol {

/// Decodes a header value: plain text, or `=?base64?…?=`. Returns nothing if a client cannot have written it:
/// characters that are invalid in headers, Base64 that is not canonical, or invalid UTF-8. Surrounding white space must
/// already be removed.
std::optional<std::string> decode_mirrored(std::string_view header_value);
/// The header value for a UTF-8 string.
std::string encode_mirrored(std::string_view text);
/// Compares a header value with a string, without a copy if it is not encoded. False if it cannot be decoded.
bool mirrors(std::string_view header_value, std::string_view text);

/// A tool argument that is repeated in a header: `"x-mcp-header": "Region"` in the input schema.
struct mirrored_parameter {
    enum class type : std::uint8_t { string, integer, boolean };

    std::string header_name;        // lower case: "mcp-param-region"
    std::vector<std::string> path;  // property names from the root of the arguments
    type kind = type::string;

    friend bool operator==(const mirrored_parameter&, const mirrored_parameter&) = default;
};

struct mirrored_schema_error {
    std::string what;  // includes the path: "properties.a.items: x-mcp-header is allowed …"
};

/// The mirrored parameters of an input schema, in schema order. One invalid annotation makes the tool unusable over
/// HTTP, so it is an error.
std::variant<std::vector<mirrored_parameter>, mirrored_schema_error> mirrored_parameters(
    const json::value& input_schema);

/// The argument at a mirrored_parameter's path. Null if it is absent or JSON null: then the request has no header for it.
const json::value* argument_at(const json::value& arguments, const std::vector<std::string>& path) noexcept;
/// The value as an integer from -(2^53-1) to 2^53-1, the range in which every JSON reader is exact; 42.0 is 42. Nullopt for any
/// other value: headers hold no other numbers.
std::optional<std::int64_t> mirrored_integer(const json::value& v) noexcept;

struct found_header {
    std::string_view value;  // without surrounding white space
    std::size_t count = 0;   // number of occurrences; 0: missing
};
using header_finder = std::function<found_header(std::string_view lower_case_name)>;

/// Returns the first mismatch between the headers and arguments of a `tools/call`, or nothing. A parameter that is
/// missing or null must not have a header, because an intermediary may have acted on it.
std::optional<std::string> check_mirrored(const std::vector<mirrored_parameter>& parameters,
                                          const json::value& arguments, const header_finder& find);

/// The value of the Mcp-Name header for this request. Nothing if the method has none or params lacks it.
std::optional<std::string_view> name_for(std::string_view method, const json::value& params) noexcept;
/// True if requests of this method must have an Mcp-Name header.
bool needs_name(std::string_view method) noexcept;

}  // namespace keel::protocol
