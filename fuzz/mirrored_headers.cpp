// Mirrored headers: an encoded text is a valid header and is decoded to the same text; no other header matches it; and
// for any schema and arguments, the server accepts the headers that the client sends.

#include "protocol/mirrored_headers.hpp"

#include <keel/json.hpp>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

namespace {

using namespace keel;
using namespace keel::protocol;

void require(bool holds) {
    if (!holds) std::abort();
}

void check_text(std::string_view text) {
    const std::string header = encode_mirrored(text);
    for (char c : header) require(c >= 0x20 && c < 0x7f);
    require(header.empty() || (header.front() != ' ' && header.back() != ' '));
    const bool utf8 = json::is_utf8(text);
    require(decode_mirrored(header).has_value() == utf8);
    if (utf8) require(decode_mirrored(header) == text && mirrors(header, text));

    // The bytes as a received header.
    if (const std::optional<std::string> decoded = decode_mirrored(text)) {
        require(json::is_utf8(*decoded) && mirrors(text, *decoded));
        require(decode_mirrored(encode_mirrored(*decoded)) == decoded);
        // An encoded text has only one form.
        if (text != *decoded && !decoded->empty() && encode_mirrored(*decoded) != *decoded)
            require(encode_mirrored(*decoded) == text);
    } else {
        require(!mirrors(text, text));
    }
}

/// The headers that a client sends with these arguments; values without a header form are omitted.
std::map<std::string, std::string> headers_for(const std::vector<mirrored_parameter>& parameters,
                                               const json::value& arguments, bool& all) {
    std::map<std::string, std::string> out;
    for (const mirrored_parameter& each : parameters) {
        const json::value* v = &arguments;
        for (const std::string& name : each.path) v = v == nullptr ? nullptr : v->find(name);
        if (v == nullptr || v->is_null()) continue;
        if (v->is_string()) out[each.header_name] = encode_mirrored(*v->if_string());
        else if (v->is_bool()) out[each.header_name] = *v->if_bool() ? "true" : "false";
        else if (v->if_int() && *v->if_int() < (1LL << 53) && *v->if_int() > -(1LL << 53))
            out[each.header_name] = std::to_string(*v->if_int());
        else all = false;
    }
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    check_text(input);

    // A schema, a newline, arguments.
    const std::size_t line = std::min(input.find('\n'), input.size());
    static json::document schema_text;
    static json::document argument_text;
    const json::value* schema = schema_text.read(input.substr(0, line));
    if (schema == nullptr) return 0;
    const auto outcome = mirrored_parameters(*schema);
    if (const auto* error = std::get_if<mirrored_schema_error>(&outcome)) {
        require(error->what.find(": ") != std::string::npos);
        return 0;
    }
    const std::vector<mirrored_parameter>& parameters = std::get<0>(outcome);
    for (const mirrored_parameter& each : parameters) require(!each.path.empty() && each.header_name.size() > 10);
    const json::value* arguments = argument_text.read(input.substr(std::min(line + 1, input.size())));
    if (arguments == nullptr) return 0;
    bool all = true;
    const std::map<std::string, std::string> headers = headers_for(parameters, *arguments, all);
    const auto with = [&](const std::string& left_out) {
        return check_mirrored(parameters, *arguments, [&](std::string_view name) -> found_header {
            const auto it = headers.find(std::string(name));
            if (it == headers.end() || it->first == left_out) return {};
            return {it->second, 1};
        });
    };
    require(with("").has_value() == !all);
    for (const auto& [name, value] : headers) require(with(name).has_value());
    return 0;
}
