#pragma once

// Revision 2026-07-28 over HTTP: parts of a request are repeated in its headers, so that what stands between client and
// server can route without reading bodies. The server must refuse a request whose headers say something else than its
// body: whoever trusts the headers would be deceived.

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

/// The text a header value stands for: itself, or what is in `=?base64?…?=`. Nothing when it cannot be one that a client
/// has written: characters that no header may hold, Base64 that is not canonical, bytes that are not UTF-8. Optional
/// white space around the value must be gone already.
std::optional<std::string> decode_mirrored(std::string_view header_value);
/// The header value that stands for a text (UTF-8).
std::string encode_mirrored(std::string_view text);
/// The same as a comparison, without copying where nothing is encoded. False when it cannot be decoded, too.
bool mirrors(std::string_view header_value, std::string_view text);

/// A property of a tool's arguments that is mirrored into a header: `"x-mcp-header": "Region"` in the input schema.
struct mirrored_parameter {
    enum class type : std::uint8_t { string, integer, boolean };

    std::string header_name;        // lower case: "mcp-param-region"
    std::vector<std::string> path;  // the names that lead to it from the root of the arguments
    type kind = type::string;

    friend bool operator==(const mirrored_parameter&, const mirrored_parameter&) = default;
};

struct mirrored_schema_error {
    std::string what;  // names the place: "properties.a.items: x-mcp-header is allowed …"
};

/// The parameters that an input schema mirrors, in its order. One wrong annotation anywhere makes the tool unusable over
/// HTTP, so it is an error.
std::variant<std::vector<mirrored_parameter>, mirrored_schema_error> mirrored_parameters(
    const json::value& input_schema);

/// The argument at a mirrored_parameter's path. Null if it is absent or JSON null: then the request has no header for it.
const json::value* argument_at(const json::value& arguments, const std::vector<std::string>& path) noexcept;
/// The value as an integer from -(2^53-1) to 2^53-1, the range in which every JSON reader is exact; 42.0 is 42. Nullopt for any
/// other value: headers hold no other numbers.
std::optional<std::int64_t> mirrored_integer(const json::value& v) noexcept;

struct found_header {
    std::string_view value;  // without the white space around it
    std::size_t count = 0;   // how often the header stands there; 0: not at all
};
using header_finder = std::function<found_header(std::string_view lower_case_name)>;

/// What is wrong with the headers of a `tools/call` with these arguments, or nothing. A parameter that is absent or null
/// has no header; one that is there nevertheless is wrong, because somebody may have acted upon it.
std::optional<std::string> check_mirrored(const std::vector<mirrored_parameter>& parameters,
                                          const json::value& arguments, const header_finder& find);

/// What the header Mcp-Name must stand for in this request: nothing where the method has none or params lacks it.
std::optional<std::string_view> name_for(std::string_view method, const json::value& params) noexcept;
/// True when requests of that method must have an Mcp-Name.
bool needs_name(std::string_view method) noexcept;

}  // namespace keel::protocol
