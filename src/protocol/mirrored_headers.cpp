#include "protocol/mirrored_headers.hpp"

#include "protocol/base64.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

namespace keel::inline KEEL_ABI::protocol {

namespace {

constexpr std::string_view sentinel_begin = "=?base64?";
constexpr std::string_view sentinel_end = "?=";
constexpr std::string_view annotation = "x-mcp-header";
constexpr std::size_t max_depth = 512;
constexpr std::int64_t largest_integer = (std::int64_t{1} << 53) - 1;  // JavaScript has no exact integers beyond this

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool is_encoded(std::string_view value) noexcept {
    return value.size() >= sentinel_begin.size() + sentinel_end.size() && value.starts_with(sentinel_begin) &&
           value.ends_with(sentinel_end);
}

bool may_stand_in_header(std::string_view value) noexcept {
    return std::all_of(value.begin(), value.end(), [](char c) { return (c >= 0x20 && c < 0x7f) || c == '\t'; });
}

bool is_token(std::string_view text) noexcept {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') ||
               (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
    });
}

template <std::size_t N>
bool one_of(std::string_view text, const std::array<std::string_view, N>& list) noexcept {
    return std::find(list.begin(), list.end(), text) != list.end();
}

// Keywords whose members are schemas with arbitrary names, and keywords whose value is data.
constexpr std::array<std::string_view, 6> maps_of_schemas = {
    "properties", "patternProperties", "dependentSchemas", "definitions", "$defs", "dependencies"};
constexpr std::array<std::string_view, 4> data = {"const", "enum", "default", "examples"};

/// Walks a whole schema. Parameters can be mirrored only if they are reached through `properties` alone.
class collector {
public:
    std::vector<mirrored_parameter> found;
    std::string problem;

    /// `reachable`: the path from the root contains only property names.
    bool walk(const json::value& schema, bool reachable) {
        if (place_.size() > max_depth) return fail("nested too deeply");
        if (schema.is_array()) {
            std::size_t i = 0;
            for (const json::value& each : schema.items()) {
                if (!enter(std::to_string(i++), each, false)) return false;
            }
            return true;
        }
        if (const json::value* header = schema.find(annotation)) {
            if (!reachable || path_.empty())
                return fail("x-mcp-header is allowed only on properties reached through \"properties\"");
            if (!take(schema, *header)) return false;
        }
        for (const json::member& each : schema.members()) {
            if (each.key() == annotation || one_of(each.key(), data)) continue;
            place_.push_back(std::string(each.key()));
            const bool map = each.content.is_object() && one_of(each.key(), maps_of_schemas);
            if (!(map ? walk_map(each.content, reachable && each.key() == "properties") : walk(each.content, false)))
                return false;
            place_.pop_back();
        }
        return true;
    }

private:
    bool walk_map(const json::value& map, bool properties) {
        for (const json::member& each : map.members()) {
            if (properties) path_.push_back(std::string(each.key()));
            if (!enter(std::string(each.key()), each.content, properties)) return false;
            if (properties) path_.pop_back();
        }
        return true;
    }

    bool enter(std::string name, const json::value& schema, bool reachable) {
        place_.push_back(std::move(name));
        if (!walk(schema, reachable)) return false;
        place_.pop_back();
        return true;
    }

    bool take(const json::value& schema, const json::value& header) {
        const std::optional<std::string_view> name = header.if_string();
        if (!name || !is_token(*name)) return fail("x-mcp-header must be a header name (RFC 9110 token)");
        mirrored_parameter p{.header_name = "mcp-param-", .path = path_};
        std::transform(name->begin(), name->end(), std::back_inserter(p.header_name), lower);
        const std::string_view type = schema["type"].if_string().value_or("");
        if (type == "string") p.kind = mirrored_parameter::type::string;
        else if (type == "integer") p.kind = mirrored_parameter::type::integer;
        else if (type == "boolean") p.kind = mirrored_parameter::type::boolean;
        else return fail("x-mcp-header requires the type string, integer or boolean");
        for (const mirrored_parameter& each : found) {
            if (each.header_name == p.header_name)
                return fail("duplicate x-mcp-header: another property uses the same name");
        }
        found.push_back(std::move(p));
        return true;
    }

    bool fail(std::string_view why) {
        for (const std::string& each : place_) {
            if (!problem.empty()) problem.push_back('.');
            problem.append(each);
        }
        if (problem.empty()) problem = "(root)";
        problem.append(": ").append(why);
        return false;
    }

    std::vector<std::string> path_;   // property names
    std::vector<std::string> place_;  // property names and keywords
};

/// "42", "-7", "42.0", "4.2e1": a JSON number. "+42", "0x2a", " 42" and "042" are invalid.
std::optional<std::int64_t> whole_number_in(std::string_view text) {
    if (text.empty() || text.size() > 32) return std::nullopt;
    if (text.find_first_not_of("0123456789.eE+-") != std::string_view::npos) return std::nullopt;
    json::document document;
    const json::value* v = document.read(text);
    return v == nullptr ? std::nullopt : mirrored_integer(*v);
}

/// Compares by the type of the value, not of the schema: a wrong argument type is reported elsewhere.
std::optional<std::string> problem_of(const std::string& name, const json::value& v, std::string_view header) {
    bool same = false;
    if (v.is_string()) {
        same = mirrors(header, *v.if_string());
    } else if (v.is_bool()) {
        same = mirrors(header, *v.if_bool() ? "true" : "false");
    } else if (v.is_number()) {
        const std::optional<std::int64_t> n = mirrored_integer(v);
        if (!n) return name + ": the argument is not an integer from -(2^53-1) to 2^53-1";
        const std::optional<std::string> text = decode_mirrored(header);
        same = text && whole_number_in(*text) == n;
    } else {
        return name + ": an array or object cannot be sent in a header";
    }
    if (same) return std::nullopt;
    return name + " does not match the arguments";
}

}  // namespace

std::optional<std::string> decode_mirrored(std::string_view header_value) {
    if (!may_stand_in_header(header_value)) return std::nullopt;
    if (!is_encoded(header_value)) return std::string(header_value);
    header_value.remove_prefix(sentinel_begin.size());
    header_value.remove_suffix(sentinel_end.size());
    std::string text;
    if (!append_base64_decoded(text, header_value) || !json::is_utf8(text)) return std::nullopt;
    return text;
}

std::string encode_mirrored(std::string_view text) {
    // Tabs are encoded: HTTP allows them in headers, but intermediaries may replace them with spaces.
    const bool plain = std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
    if (plain && !text.starts_with(' ') && !text.ends_with(' ') && !is_encoded(text)) return std::string(text);
    std::string out(sentinel_begin);
    append_base64(out, text);
    return out.append(sentinel_end);
}

bool mirrors(std::string_view header_value, std::string_view text) {
    if (!is_encoded(header_value)) return header_value == text && may_stand_in_header(header_value);
    return decode_mirrored(header_value) == text;
}

std::variant<std::vector<mirrored_parameter>, mirrored_schema_error> mirrored_parameters(
    const json::value& input_schema) {
    collector c;
    if (!c.walk(input_schema, true)) return mirrored_schema_error{std::move(c.problem)};
    return std::move(c.found);
}

const json::value* argument_at(const json::value& arguments, const std::vector<std::string>& path) noexcept {
    const json::value* at = &arguments;
    for (const std::string& name : path) {
        at = at->find(name);
        if (at == nullptr) return nullptr;
    }
    return at->is_null() ? nullptr : at;
}

std::optional<std::int64_t> mirrored_integer(const json::value& v) noexcept {
    std::optional<std::int64_t> n = v.if_int();
    if (!n && v.type() == json::kind::real) {
        const double d = *v.if_double();
        if (d >= -static_cast<double>(largest_integer) && d <= static_cast<double>(largest_integer) &&
            std::trunc(d) == d) {
            n = static_cast<std::int64_t>(d);
        }
    }
    if (n && (*n < -largest_integer || *n > largest_integer)) return std::nullopt;
    return n;
}

std::optional<std::string> check_mirrored(const std::vector<mirrored_parameter>& parameters,
                                          const json::value& arguments, const header_finder& find) {
    for (const mirrored_parameter& each : parameters) {
        const found_header header = find(each.header_name);
        if (header.count > 1) return each.header_name + " is repeated";
        const json::value* v = argument_at(arguments, each.path);
        if (v == nullptr) {
            if (header.count != 0) return each.header_name + " is present, but the argument is missing";
            continue;
        }
        if (header.count == 0) return each.header_name + " is missing";
        if (auto problem = problem_of(each.header_name, *v, header.value)) return problem;
    }
    return std::nullopt;
}

std::optional<std::string_view> name_for(std::string_view method, const json::value& params) noexcept {
    if (method == "tools/call" || method == "prompts/get") return params["name"].if_string();
    if (method == "resources/read") return params["uri"].if_string();
    if (method == "tasks/get" || method == "tasks/update" || method == "tasks/cancel")
        return params["taskId"].if_string();
    return std::nullopt;
}

bool needs_name(std::string_view method) noexcept {
    constexpr std::array<std::string_view, 6> with_name = {"tools/call", "prompts/get",  "resources/read",
                                                           "tasks/get",  "tasks/update", "tasks/cancel"};
    return one_of(method, with_name);
}

}  // namespace keel::protocol
