#include <keel/content.hpp>
#include <keel/tool.hpp>

namespace keel {

namespace {

content media(const char* type, std::string data, std::string mime_type) {
    return content::block(
        json::object({{"type", type}, {"data", std::move(data)}, {"mimeType", std::move(mime_type)}}));
}

}  // namespace

content content::image(std::string data, std::string mime_type) {
    return media("image", std::move(data), std::move(mime_type));
}

content content::audio(std::string data, std::string mime_type) {
    return media("audio", std::move(data), std::move(mime_type));
}

content content::block(json::value v) {
    if (!v["type"].is_string()) throw std::invalid_argument("keel: a content block is an object with a \"type\"");
    content c;
    c.block_ = std::move(v);
    return c;
}

bool content::write(std::string& out) const {
    if (!is_text()) return json::write(out, block_);
    out += R"({"type":"text","text":)";
    if (!json::write_string(out, text_)) return false;
    out += '}';
    return true;
}

namespace detail {

void throw_unexpressible() {
    throw bad_result("the result cannot be expressed in JSON (NaN, infinity, or text that is not UTF-8)");
}

void throw_bad_arguments(const decode_error& e) { throw bad_arguments(e.message()); }

void write_text(reply& out, std::string_view text) {
    out.content += R"([{"type":"text","text":)";
    if (!json::write_string(out.content, text)) throw_unexpressible();
    out.content += "}]";
}

void write_result(reply& out, const tool_result& r) {
    out.is_error = r.is_error;
    if (!r.structured.is_null() && !json::write(out.structured, r.structured)) throw_unexpressible();
    if (r.content.empty() && !out.structured.empty()) return add_text_twin(out);
    out.content += '[';
    for (const content& block : r.content) {
        if (out.content.size() > 1) out.content += ',';
        if (!block.write(out.content)) throw_unexpressible();
    }
    out.content += ']';
}

void write_number(reply& out, double d) {
    std::string text;
    // 3.0 reads as 3: this is for people and models.
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

}  // namespace detail

}  // namespace keel
