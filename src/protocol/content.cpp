// Content blocks: construction, decoding, encoding.

#include <keel/content.hpp>

#include <keel/base64.hpp>
#include <keel/types_json.hpp>

#include <array>
#include <utility>

namespace keel::inline KEEL_ABI {

namespace {

content media(std::string_view type, std::string_view data, std::string_view mime_type) {
    return content::block(json::object({{"type", type}, {"data", data}, {"mimeType", mime_type}}));
}

struct needed_member {
    std::string_view type;
    std::string_view name;
    json::kind kind;
};

/// The required members of the known block types.
constexpr std::array needed = {
    needed_member{"text", "text", json::kind::string},
    needed_member{"image", "data", json::kind::string},
    needed_member{"image", "mimeType", json::kind::string},
    needed_member{"audio", "data", json::kind::string},
    needed_member{"audio", "mimeType", json::kind::string},
    needed_member{"resource_link", "uri", json::kind::string},
    needed_member{"resource_link", "name", json::kind::string},
    needed_member{"resource", "resource", json::kind::object},
    needed_member{"tool_use", "id", json::kind::string},
    needed_member{"tool_use", "name", json::kind::string},
    needed_member{"tool_use", "input", json::kind::object},
    needed_member{"tool_result", "toolUseId", json::kind::string},
    needed_member{"tool_result", "content", json::kind::array},
};

bool complain(decode_error& e, std::string_view path, std::string text) {
    e.path = path;
    e.text = std::move(text);
    return false;
}

bool has(const json::value& block, std::string_view name, json::kind kind, decode_error& e) {
    const json::value* found = block.find(name);
    if (found == nullptr) return complain(e, name, "required");
    if (found->type() == kind) return true;
    return complain(
        e, name,
        "expected " + std::string(json::name_of(kind)) + ", found " + std::string(json::name_of(found->type())));
}

bool is_block(const json::value& v, decode_error& e) {
    if (!v.is_object()) return complain(e, {}, "expected object, found " + std::string(json::name_of(v.type())));
    if (!has(v, "type", json::kind::string, e)) return false;
    const std::string_view type = v["type"].as_string();
    for (const needed_member& n : needed) {
        if (n.type == type && !has(v, n.name, n.kind, e)) return false;
    }
    return true;
}

}  // namespace

content content::image(std::string_view data, std::string_view mime_type) { return media("image", data, mime_type); }

content content::audio(std::string_view data, std::string_view mime_type) { return media("audio", data, mime_type); }

content content::image_bytes(std::string_view bytes, std::string_view mime_type) {
    return image(base64_encode(bytes), mime_type);
}

content content::audio_bytes(std::string_view bytes, std::string_view mime_type) {
    return audio(base64_encode(bytes), mime_type);
}

content content::link(const resource& what) {
    json::value made = json::object({{"type", "resource_link"}});
    const json::value encoded = encode(what);
    for (const json::member& m : encoded.members()) made.append(m.key(), m.content);
    return block(std::move(made));
}

content content::embed(const resource_contents& what) {
    return block(json::object({{"type", "resource"}, {"resource", encode(what)}}));
}

content content::block(json::value v) {
    content made;
    decode_error e;
    if (!keel_decode(v, made, e)) {
        throw std::invalid_argument("keel: invalid content block: " + e.message());
    }
    return made;
}

content content::tool_use(std::string_view id, std::string_view name, json::value input) {
    return block(json::object({{"type", "tool_use"}, {"id", id}, {"name", name}, {"input", std::move(input)}}));
}

content content::tool_answer(std::string_view tool_use_id, const std::vector<content>& blocks, bool is_error) {
    json::value made = json::object({{"type", "tool_result"}, {"toolUseId", tool_use_id}, {"content", encode(blocks)}});
    if (is_error) made.append("isError", true);
    return block(std::move(made));
}

json::value& content::changeable() {
    if (block_.is_null()) block_ = keel_encode(*this);
    return block_;
}

content& content::with(const annotations& notes) {
    changeable().set("annotations", encode(notes));
    return *this;
}

content& content::with_meta(json::value meta) {
    changeable().set("_meta", std::move(meta));
    return *this;
}

std::string_view content::type() const noexcept {
    return is_plain_text() ? std::string_view("text") : block_["type"].if_string().value_or(std::string_view());
}

// The object with the URI and MIME type: for an embedded resource it is nested.
const json::value& content::about() const noexcept { return type() == "resource" ? block_["resource"] : block_; }

std::optional<std::string_view> content::base64() const noexcept {
    if (type() == "image" || type() == "audio") return block_["data"].if_string();
    if (type() == "resource") return about()["blob"].if_string();
    return std::nullopt;
}

std::string_view content::data() const noexcept { return base64().value_or(std::string_view()); }

std::optional<std::string> content::bytes() const {
    const std::optional<std::string_view> text = base64();
    return text ? base64_decode(*text) : std::nullopt;
}

std::string_view content::mime_type() const noexcept {
    const std::string_view of = type();
    if (of != "image" && of != "audio" && of != "resource_link" && of != "resource") return {};
    return about()["mimeType"].if_string().value_or(std::string_view());
}

std::string_view content::uri() const noexcept {
    if (type() != "resource_link" && type() != "resource") return {};
    return about()["uri"].if_string().value_or(std::string_view());
}

std::optional<resource> content::linked() const {
    resource into;
    decode_error ignored;
    if (type() != "resource_link" || !decode(block_, into, ignored)) return std::nullopt;
    return into;
}

std::optional<resource_contents> content::embedded() const {
    resource_contents into;
    decode_error ignored;
    if (type() != "resource" || !decode(about(), into, ignored)) return std::nullopt;
    return into;
}

bool content::write(std::string& out) const {
    if (!is_plain_text()) return json::write(out, block_);
    const std::size_t before = out.size();
    out += R"({"type":"text","text":)";
    if (!json::write_string(out, text_)) {
        out.resize(before);
        return false;
    }
    out += '}';
    return true;
}

json::value keel_encode(const content& from) {
    if (!from.is_plain_text()) return from.as_block();
    return json::object({{"type", "text"}, {"text", from.text()}});
}

bool keel_decode(const json::value& from, content& into, decode_error& error) {
    if (!is_block(from, error)) return false;
    const bool is_text = from["type"].as_string() == "text";
    into.text_ = is_text ? from["text"].as_string() : std::string_view();
    into.block_ = is_text && from.size() == 2 ? json::value() : from;
    return true;
}

std::string tool_result::text() const {
    std::string all;
    bool first = true;
    for (const keel::content& block : content) {
        if (!block.is_text()) continue;
        if (!std::exchange(first, false)) all += '\n';
        all += block.text();
    }
    return all;
}

}  // namespace keel
