#include "show.hpp"

#include "json_text.hpp"
#include "printable.hpp"
#include "schema_types.hpp"

#include <keel/base64.hpp>

#include <algorithm>
#include <cstdio>

namespace keel::command {

namespace {

std::string ended(std::string text) {
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    return text;
}

std::string_view text_in(const json::value& v, std::string_view key) { return v[key].if_string().value_or(""); }

std::string bytes_line(std::string_view mime_type, std::string_view base64, std::string_view uri) {
    auto bytes = base64_decode(base64);
    std::string line = "[" + (mime_type.empty() ? "bytes" : printable_line(mime_type)) + ", " +
                       (bytes ? shown_size(bytes->size()) : "invalid Base64");
    return line + (uri.empty() ? "" : ", " + printable_line(uri)) + "]\n";
}

bool is_json_of(const content& block, const json::value& v) {
    std::string_view text = block.is_text() ? std::string_view(block.text()) : text_in(block.as_block(), "text");
    if (block.type() != "text" || text.empty()) return false;
    json::document document;
    const json::value* parsed = document.read(text);
    return parsed && *parsed == v;
}

}  // namespace

std::string shown(const json::value& v) { return json_text(v, false) + "\n"; }

std::string shown(const content& block) {
    if (block.is_text()) return ended(printable(block.text()));
    const json::value& b = block.as_block();
    std::string_view type = block.type();
    if (type == "text") return ended(printable(text_in(b, "text")));
    if (type == "image" || type == "audio") return bytes_line(text_in(b, "mimeType"), text_in(b, "data"), "");
    if (type == "resource_link") {
        std::string about = printable_line(text_in(b, "description"));
        return "[" + printable_line(text_in(b, "name")) + ": " + printable_line(text_in(b, "uri")) +
               (about.empty() ? "" : ", " + about) + "]\n";
    }
    const json::value& inside = b["resource"];
    if (type == "resource" && inside["text"].is_string()) {
        return "[" + printable_line(text_in(inside, "uri")) + "]\n" + ended(printable(text_in(inside, "text")));
    }
    if (type == "resource")
        return bytes_line(text_in(inside, "mimeType"), text_in(inside, "blob"), text_in(inside, "uri"));
    return shown(b);
}

std::string shown(const tool_result& result, bool terminal, bool colors) {
    std::string text;
    bool has_text = false;
    for (const content& each : result.content) {
        has_text = has_text || each.type() == "text";
        // Servers repeat structured content as text, for clients without structured output.
        bool repeated = terminal && result.structured && is_json_of(each, *result.structured);
        text += repeated ? json_text(*result.structured, colors) + "\n" : shown(each);
    }
    if (result.structured && !has_text) text += json_text(*result.structured, colors) + "\n";
    return text;
}

std::string shown(const resource_contents& what) {
    if (what.text) return ended(printable(*what.text));
    return bytes_line(what.mime_type, what.blob.value_or(""), "");
}

std::string shown_arguments(const json::value& input_schema) {
    auto needed = input_schema["required"].items();
    std::string all;
    for (const json::member& each : input_schema["properties"].members()) {
        std::string types = types_of(each.content, input_schema).text();
        std::replace(types.begin(), types.end(), ' ', '-');
        std::string one = std::string(each.key()) + (types.empty() ? "" : "=" + types);
        bool required = std::any_of(needed.begin(), needed.end(),
                                    [&](const json::value& name) { return name.if_string() == each.key(); });
        all += (all.empty() ? "" : " ") + (required ? one : "[" + one + "]");
    }
    return all;
}

std::string shown_size(std::size_t bytes) {
    if (bytes < 1024) return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
    constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double n = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    for (; n >= 1024 && unit < 5; ++unit) n /= 1024;
    char text[32];
    std::snprintf(text, sizeof text, "%.1f %s", n, units[unit]);
    return text;
}

}  // namespace keel::command
