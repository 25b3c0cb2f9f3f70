// Prompts: validation, prompts/list, prompts/get.

#include "protocol/messages.hpp"
#include "protocol/revisions.hpp"
#include "protocol/uri.hpp"
#include "server/invocation.hpp"
#include "server/offer_checks.hpp"
#include "server/offers.hpp"

#include <keel/base64.hpp>

#include <algorithm>
#include <set>

namespace keel::inline KEEL_ABI {

// ---- the result of a prompt function ----

namespace detail {

namespace {

/// `type/subtype` with optional parameters.
bool is_mime_type(std::string_view text) {
    text = text.substr(0, text.find(';'));
    auto of_token = [](char c) {
        return c > ' ' && c < 0x7f && std::string_view("()<>@,;:\\\"/[]?=").find(c) == std::string_view::npos;
    };
    std::size_t slash = text.find('/');
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == text.size()) return false;
    while (text.ends_with(' ')) text.remove_suffix(1);
    return std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(slash), of_token) &&
           std::all_of(text.begin() + static_cast<std::ptrdiff_t>(slash) + 1, text.end(), of_token);
}

std::string_view text_of(const json::value& v) { return v.if_string().value_or(std::string_view()); }

/// PRM-02: returns the error in a block, or nullptr.
const char* fault_of(const content& said) {
    const json::value& block = said.as_block();
    if (said.type() == "image" || said.type() == "audio") {
        if (!is_mime_type(text_of(block["mimeType"]))) return "invalid MIME type";
        if (!base64_decode(text_of(block["data"]))) return "the data is not valid Base64";
    } else if (said.type() == "resource") {
        const json::value& inner = block["resource"];
        if (!protocol::is_valid_uri(text_of(inner["uri"]))) return "invalid URI";
        if (!is_mime_type(text_of(inner["mimeType"]))) return "invalid MIME type";
        if (inner["text"].is_string() == inner["blob"].is_string()) return "exactly one of text and blob is required";
        if (inner["blob"].is_string() && !base64_decode(text_of(inner["blob"]))) return "the blob is not valid Base64";
    }
    return nullptr;
}

}  // namespace

void write_prompt(reply& out, const prompt_result& r) {
    out.content += '[';
    for (const prompt_message& m : r.messages) {
        if (const char* fault = fault_of(m.content)) {
            throw bad_result("invalid " + std::string(m.content.type()) + " block in a prompt: " + fault);
        }
        if (out.content.size() > 1) out.content += ',';
        out.content += m.role == role::user ? R"({"role":"user","content":)" : R"({"role":"assistant","content":)";
        if (!m.content.write(out.content)) throw_unexpressible();
        out.content += '}';
        if (!m.content.is_plain_text()) out.only_text = false;
    }
    out.content += ']';
    if (!r.description.empty()) {
        out.extra += R"(,"description":)";
        if (!json::write_string(out.extra, r.description)) throw_unexpressible();
    }
    if (!r.meta.is_null()) write_meta(out, r.meta);
}

std::vector<prompt_argument> arguments_of(const struct_table& fields) {
    std::vector<prompt_argument> all;
    for (std::size_t i = 0; i < fields.count; ++i) {
        const field& f = fields.fields[i];
        const type_table* type = f.type;
        while (type->kind == shape::nullable) type = type->element;
        if (type->kind != shape::string && type->kind != shape::enumeration) {
            throw std::invalid_argument("keel: prompt arguments " + std::string(fields.name) + ": " +
                                        std::string(f.wire) + ": must be a string, an enum, or an optional of these");
        }
        prompt_argument made;
        made.name = f.wire;
        made.title = f.notes.title;
        made.description = f.notes.description;
        made.required = f.required;
        all.push_back(std::move(made));
    }
    return all;
}

}  // namespace detail

}  // namespace keel

namespace keel::inline KEEL_ABI::server_side {

// ---- registration ----

prompt_offer::prompt_offer(detail::prompt_entry entry)
    : about(std::move(entry.about)), handler(std::move(entry.handler)), complete(std::move(entry.complete)) {
    offer_checks check(kind, about.name);
    check.not_empty("name", about.name);
    check.text("title", about.title);
    check.text("description", about.description);
    check.icons(about.icons);
    check.meta(about.meta);
    std::set<std::string_view> names;
    for (const prompt_argument& each : about.arguments) {
        check.not_empty("arguments", each.name);
        check.text("arguments", each.title);
        check.text("arguments", each.description);
        if (!names.insert(each.name).second) check.refuse("arguments", "\"" + each.name + "\" is a duplicate");
    }
    for (const auto& [argument, function] : complete) {
        check.text("complete", argument);
        if (!names.contains(argument)) check.refuse("complete", "unknown argument \"" + argument + "\"");
        if (!function) check.refuse("complete", "the function for \"" + argument + "\" is empty");
    }
    if (!handler) check.refuse("handler", "must not be empty");
}

json::value prompt_offer::describe(protocol::revision r) const { return protocol::encode_for(r, about); }

// ---- prompts/get ----

namespace {

std::string messages_for(protocol::revision rev, const std::string& messages) {
    json::value all = json::parse(messages);
    for (json::value& m : all.items()) m.set("content", protocol::content_for(rev, m["content"]));
    return json::to_string(all);
}

void write_messages(result_text& out, detail::reply& r, protocol::revision rev, const server_core& server,
                    const void*) {
    out.before += protocol::is_modern(rev) ? R"({"resultType":"complete","messages":)" : R"({"messages":)";
    if (!r.only_text && rev < protocol::revision::r2025_11_25) r.content = messages_for(rev, r.content);
    out.after += r.extra;
    end_result(out.after, rev, server, r.meta);
}

}  // namespace

invocation find_prompt(const incoming& in, const table<prompt_offer>& prompts) {
    auto name = in.params["name"].if_string();
    if (!name) invalid_params("name: expected string");
    static const json::value nothing = json::object();
    const json::value* arguments = in.params.find("arguments");
    if (!arguments || arguments->is_null()) arguments = &nothing;
    if (!arguments->is_object()) invalid_params("arguments: expected object");
    const std::shared_ptr<const prompt_offer>* found = prompts.find(*name);
    if (!found) invalid_params("unknown prompt: " + rpc::printable(*name));
    for (const json::member& m : arguments->members()) {
        if (m.content.is_string()) continue;
        invalid_params("arguments." + rpc::printable(m.key()) + ": expected string, found " +
                       std::string(json::name_of(m.content.type())));
    }
    for (const prompt_argument& each : (*found)->about.arguments) {
        if (each.required && !arguments->contains(each.name)) invalid_params("arguments." + each.name + ": required");
    }
    invocation call;
    call.offer = *found;  // keeps it alive if it is removed during the call
    call.handler = &(*found)->handler;
    call.write = &write_messages;
    call.input = arguments;
    return call;
}

}  // namespace keel::server_side
