// Resources and resource templates: validation, lists, resources/read.

#include "protocol/base64.hpp"
#include "protocol/messages.hpp"
#include "protocol/revisions.hpp"
#include "server/invocation.hpp"
#include "server/offer_checks.hpp"
#include "server/offers.hpp"

#include <algorithm>

namespace keel::inline KEEL_ABI {

// ---- the result of a resource function ----

namespace detail {

namespace {

void check_contents(const resource_contents& c) {
    auto refuse = [&](const std::string& why) {
        throw bad_result("contents of \"" + (json::is_utf8(c.uri) ? c.uri : "?") + "\": " + why);
    };
    if (!protocol::is_valid_uri(c.uri)) refuse("uri: invalid URI");
    if (c.text.has_value() == c.blob.has_value()) refuse("exactly one of text and blob is required");
    if (c.blob) {
        std::string bytes;
        if (!protocol::append_base64_decoded(bytes, *c.blob)) refuse("blob: invalid Base64");
    }
    if (!c.meta.is_null() && !c.meta.is_object()) refuse("meta: must be a JSON object");
}

void begin_contents(reply& out, const json::value& input) {
    out.content += R"([{"uri":)";
    if (!json::write(out.content, input["uri"])) throw_unexpressible();
    if (input["mimeType"].if_string().value_or("").empty()) return;
    out.content += R"(,"mimeType":)";
    if (!json::write(out.content, input["mimeType"])) throw_unexpressible();
}

}  // namespace

void write_contents(reply& out, const read_result& r) {
    out.content += '[';
    for (const resource_contents& each : r.contents) {
        check_contents(each);
        if (out.content.size() > 1) out.content += ',';
        if (!keel::write_json(out.content, each)) throw_unexpressible();
        if (!each.meta.is_null()) out.only_text = false;
    }
    out.content += ']';
    if (!r.cache) return;
    if (r.cache->ttl.count() < 0) throw bad_result("the ttl of a cache hint must not be negative");
    server_side::write_cache_hint(out.extra, *r.cache);
}

void write_text_contents(reply& out, std::string_view text, const json::value& input) {
    begin_contents(out, input);
    out.content += R"(,"text":)";
    if (!json::write_string(out.content, text)) throw_unexpressible();
    out.content += "}]";
}

void write_byte_contents(reply& out, std::string_view data, const json::value& input) {
    begin_contents(out, input);
    out.content += R"(,"blob":")";
    protocol::append_base64(out.content, data);
    out.content += "\"}]";
}

}  // namespace detail

}  // namespace keel

namespace keel::inline KEEL_ABI::server_side {

// ---- registration ----

namespace {

template <class About>
void check_about(const offer_checks& check, const About& about) {
    check.not_empty("name", about.name);
    check.text("title", about.title);
    check.text("description", about.description);
    check.text("mime_type", about.mime_type);
    check.notes(about.annotations);
    check.icons(about.icons);
    check.meta(about.meta);
}

protocol::uri_template compile(const resource_template& about) {
    offer_checks check(template_offer::kind, about.uri_template);
    const std::string& text = about.uri_template;
    check.not_empty("uri_template", text);
    // RES-06: a template must begin with a URI scheme or with a variable.
    std::size_t end = text.find_first_of(":/?#{");
    auto of_scheme = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '-' ||
               c == '.';
    };
    if (end == std::string::npos || (text[end] != '{' && (text[end] != ':' || end == 0)) ||
        !std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), of_scheme)) {
        check.refuse("uri_template", "must begin with a URI scheme such as \"file:\"");
    }
    try {
        return protocol::uri_template(text);
    } catch (const std::invalid_argument& e) {
        // Removes the template from the message, which names it already.
        std::string_view why = e.what();
        std::string known = "keel: URI template \"" + text + "\": ";
        if (why.starts_with(known)) why.remove_prefix(known.size());
        check.refuse("uri_template", why);
    }
}

}  // namespace

void check_resource(const resource& about) {
    offer_checks check(resource_offer::kind, about.uri);
    if (!protocol::is_valid_uri(about.uri)) check.refuse("uri", "invalid URI");
    check_about(check, about);
    if (about.size && *about.size < 0) check.refuse("size", "must not be negative");
}

resource_offer::resource_offer(detail::resource_entry entry)
    : about(std::move(entry.about)), handler(std::move(entry.handler)), cache(entry.options.cache) {
    check_resource(about);
    offer_checks check(kind, about.uri);
    check.cache(cache);
    if (!handler) check.refuse("handler", "must not be empty");
}

json::value resource_offer::describe(protocol::revision r) const { return protocol::encode_for(r, about); }

template_offer::template_offer(detail::template_entry entry)
    : about(std::move(entry.about)), handler(std::move(entry.handler)), options(std::move(entry.options)),
      pattern(compile(about)) {
    offer_checks check(kind, about.uri_template);
    check_about(check, about);
    check.cache(options.cache);
    if (!handler) check.refuse("handler", "must not be empty");
    for (const auto& [variable, function] : options.complete) {
        const auto& known = pattern.variables();
        if (std::find(known.begin(), known.end(), variable) == known.end()) {
            check.refuse("complete", "unknown variable \"" + variable + "\"");
        }
        if (!function) check.refuse("complete", "the function for \"" + variable + "\" is empty");
    }
}

json::value template_offer::describe(protocol::revision r) const { return protocol::encode_for(r, about); }

// ---- resources/read ----

namespace {

std::string contents_for(protocol::revision rev, const std::string& contents) {
    auto all = keel::decode<std::vector<resource_contents>>(json::parse(contents));
    return json::to_string(protocol::encode_for(rev, all));
}

void write_read(result_text& result, detail::reply& r, protocol::revision rev, const server_core& server,
                const std::optional<cache_hint>& hint) {
    const bool modern = protocol::is_modern(rev);
    result.before += modern ? R"({"resultType":"complete","contents":)" : R"({"contents":)";
    // `only_text`: no contents have `_meta`
    if (!r.only_text && !protocol::has_titles(rev)) r.content = contents_for(rev, r.content);
    std::string& out = result.after;
    if (modern && !r.extra.empty()) out += r.extra;  // the hint of this read takes precedence
    else if (modern) write_cache_hint(out, hint ? *hint : server.hint_for(protocol::method::resources_read));
    end_result(out, rev, server, r.meta);
}

void write_resource(result_text& out, detail::reply& r, protocol::revision rev, const server_core& server,
                    const void* offer) {
    write_read(out, r, rev, server, static_cast<const resource_offer*>(offer)->cache);
}

void write_template(result_text& out, detail::reply& r, protocol::revision rev, const server_core& server,
                    const void* offer) {
    write_read(out, r, rev, server, static_cast<const template_offer*>(offer)->options.cache);
}

json::value read_input(std::string_view uri, const std::string& mime_type, const protocol::matched_values& found) {
    json::value variables = json::object();
    for (const auto& [name, value] : found) variables.append(name, value);
    return json::object({{"uri", uri}, {"mimeType", mime_type}, {"variables", std::move(variables)}});
}

bool leads_astray(const protocol::matched_values& variables) {
    return std::any_of(variables.begin(), variables.end(),
                       [](const auto& each) { return protocol::is_path_traversal(each.second); });
}

}  // namespace

invocation find_resource(const incoming& in, const table<resource_offer>& resources,
                         const table<template_offer>& templates) {
    auto uri = in.params["uri"].if_string();
    if (!uri) throw error(error_code::invalid_params, "uri: expected string");
    invocation call;
    if (const auto* found = resources.find(*uri)) {
        call.offer = *found;  // keeps it alive if it is removed during the call
        call.handler = &(*found)->handler;
        call.write = &write_resource;
        call.made = read_input(*uri, (*found)->about.mime_type, {});
        return call;
    }
    if (!protocol::is_valid_uri(*uri)) {
        throw error(error_code::invalid_params, "uri: invalid URI", json::object({{"uri", *uri}}));
    }
    bool refused = false;
    for (std::size_t i = 0; i < templates.size(); ++i) {
        const std::shared_ptr<const template_offer>& t = templates[i];
        auto variables = t->pattern.match(*uri);
        if (!variables) continue;
        if (!t->options.allow_path_traversal && leads_astray(*variables)) {
            refused = true;
            continue;
        }
        call.offer = t;
        call.handler = &t->handler;
        call.write = &write_template;
        call.made = read_input(*uri, t->about.mime_type, *variables);
        return call;
    }
    if (refused) throw refused_read(std::string(*uri));
    throw resource_not_found(std::string(*uri));
}

}  // namespace keel::server_side
