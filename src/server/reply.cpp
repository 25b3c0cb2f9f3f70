// The results of tools as JSON text.

#include <keel/tool.hpp>

#include <algorithm>
#include <utility>

namespace keel::inline KEEL_ABI {

tool_failure::~tool_failure() = default;  // see src/async/error.cpp

}  // namespace keel

namespace keel::inline KEEL_ABI::detail {

bad_arguments::~bad_arguments() = default;
bad_result::~bad_result() = default;

void throw_unexpressible() {
    throw bad_result("the result is not valid JSON (NaN, infinity, or text that is not UTF-8)");
}

void throw_bad_arguments(const std::vector<decode_error>& all) {
    // A limit for paths and texts that a peer made long.
    constexpr std::size_t most = 8 * 1024;
    std::string text;
    for (const decode_error& e : all) {
        const std::string one = e.message();
        if (!text.empty() && text.size() + one.size() > most) {
            text += "\n…";
            break;
        }
        if (!text.empty()) text += '\n';
        text += one;
    }
    throw bad_arguments(text);
}

void throw_bad_arguments(const type_table& t, const json::value& from, void* into, std::string_view prefix) {
    throw_bad_arguments(all_decode_errors(t, from, into, prefix));
}

void write_text(reply& out, std::string_view text) {
    out.content += R"([{"type":"text","text":)";
    if (!json::write_string(out.content, text)) throw_unexpressible();
    out.content += "}]";
}

void write_meta(reply& out, const json::value& meta) {
    if (!meta.is_object()) throw bad_result("the _meta of a result is not an object");
    if (!json::write(out.meta, meta)) throw_unexpressible();
}

void write_result(reply& out, const tool_result& r) {
    out.is_error = r.is_error;
    if (!r.meta.is_null()) write_meta(out, r.meta);
    if (r.structured && !json::write(out.structured, *r.structured)) throw_unexpressible();
    if (r.content.empty() && !out.structured.empty()) return add_text_twin(out);
    out.content += '[';
    for (const content& block : r.content) {
        if (out.content.size() > 1) out.content += ',';
        if (!block.write(out.content)) throw_unexpressible();
        if (!block.is_plain_text()) out.only_text = false;
    }
    out.content += ']';
}

void write_number(reply& out, double d) {
    std::string text;
    // Writes 3.0 as 3: the text is for people and models.
    bool whole = d >= -9e15 && d <= 9e15 && d == static_cast<double>(static_cast<std::int64_t>(d));
    if (whole) json::write_int(text, static_cast<std::int64_t>(d));
    else if (!json::write_double(text, d)) throw_unexpressible();
    write_text(out, text);
}

void write_number(reply& out, std::int64_t n) {
    std::string text;
    json::write_int(text, n);
    write_text(out, text);
}

void write_number(reply& out, std::uint64_t n) {
    std::string text;
    json::write_uint(text, n);
    write_text(out, text);
}

void add_text_twin(reply& out) {
    std::string structured = out.structured;
    write_text(out, structured);
}

json::value empty_object_schema() { return json::object({{"type", "object"}, {"properties", json::object()}}); }

json::value output_schema_of(const type_table& t) {
    json::value made = schema_of(t);
    const auto forms = std::as_const(made)["anyOf"].items();
    const auto is_object = [](const json::value& form) { return form["type"] == "object"; };
    if (!forms.empty() && std::all_of(forms.begin(), forms.end(), is_object)) made["type"] = "object";
    return made;
}

bool needs_output_check(const json::value& schema) {
    for (const json::member& m : schema.members()) {
        if (m.key() == "pattern" && m.content.is_string()) return true;
        if (needs_output_check(m.content)) return true;
    }
    return std::any_of(schema.items().begin(), schema.items().end(), needs_output_check);
}

}  // namespace keel::detail
