// Tools: validation, tools/list, tools/call and its results.

#include "protocol/messages.hpp"
#include "protocol/revisions.hpp"
#include "server/invocation.hpp"
#include "server/offer_checks.hpp"
#include "server/offers.hpp"

#include <algorithm>

namespace keel::inline KEEL_ABI::server_side {

namespace {

[[noreturn]] void refuse(const tool_description& about, const std::string& field, const std::string& why) {
    std::string name = json::is_utf8(about.name) ? about.name : "?";
    throw std::invalid_argument("keel: tool \"" + name + "\": " + field + ": " + why);
}

void check_name(const tool_description& about) {
    auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
               c == '.';
    };
    if (about.name.empty() || about.name.size() > 128) refuse(about, "name", "must have 1 to 128 characters");
    if (!std::all_of(about.name.begin(), about.name.end(), allowed)) {
        refuse(about, "name", "may contain only letters, digits, '_', '-' and '.'");
    }
}

schema compile(const tool_description& about, const char* field, const json::value& document, bool check_formats) {
    if (!document.is_object()) refuse(about, field, "must be a JSON object");
    try {
        return schema(document, {.check_formats = check_formats});
    } catch (const schema_error& e) {
        refuse(about, field, e.what());
    }
}

keel::tool as_told(const tool_description& about) {
    keel::tool t;
    t.name = about.name;
    t.title = about.options.title;
    t.description = about.description;
    t.input_schema = about.input_schema;
    t.output_schema = about.output_schema;
    if (encode(about.options.annotations).size() > 0) t.annotations = about.options.annotations;
    t.icons = about.options.icons;
    t.meta = about.options.meta;
    return t;
}

}  // namespace

tool::tool(detail::tool_entry entry)
    : about(std::move(entry.about)), handler(std::move(entry.handler)), check_input(entry.check_input),
      check_output(entry.check_output), decode_errors(entry.decode_errors) {
    check_name(about);
    if (about.options.run_on) {
        if (about.options.quick) refuse(about, "run_on", "cannot be combined with quick");
        if (handler.coroutine) refuse(about, "run_on", "is not for coroutines, which always run on the loop");
        handler.run_on = about.options.run_on;
    }
    input = compile(about, "input_schema", about.input_schema, about.options.check_formats);
    auto headers = protocol::mirrored_parameters(about.input_schema);
    if (auto* wrong = std::get_if<protocol::mirrored_schema_error>(&headers))
        refuse(about, "input_schema", wrong->what);
    mirrored = std::get<std::vector<protocol::mirrored_parameter>>(std::move(headers));
    if (about.input_schema["type"].if_string() != std::string_view("object")) {
        refuse(about, "input_schema", "must have \"type\": \"object\"");
    }
    if (!about.output_schema.is_null()) output = compile(about, "output_schema", about.output_schema, false);
    offer_checks common(kind, about.name);
    common.meta(about.options.meta);
    common.icons(about.options.icons);
    if (!handler) refuse(about, "handler", "must not be empty");
    std::string text;
    if (!json::write(text, about.description)) refuse(about, "description", "must be UTF-8");
    if (!json::write(text, about.options.title)) refuse(about, "title", "must be UTF-8");
    const keel::tool told = as_told(about);
    if (!json::write(text, encode(told))) refuse(about, "description", "is not valid JSON");
}

json::value tool::describe(protocol::revision r) const {
    json::value told = protocol::encode_for(r, as_told(about));
    // Before 2026-07-28 structured content must be an object, so other output schemas are omitted.
    if (!protocol::has_any_structured_content(r) && told.contains("outputSchema") &&
        about.output_schema["type"].if_string() != std::string_view("object")) {
        told.erase("outputSchema");
    }
    return told;
}

namespace {

std::string blocks_for(protocol::revision r, const std::string& content) {
    json::value blocks = json::array();
    const json::value given = json::parse(content);  // not a temporary: it must outlive the loop
    for (const json::value& block : given.items()) {
        blocks.push_back(protocol::content_for(r, block));
    }
    return json::to_string(blocks);
}

void write_tool(result_text& out, detail::reply& r, protocol::revision rev, const server_core& server,
                const void* offer) {
    const tool& t = *static_cast<const tool*>(offer);
    if (t.output && t.check_output && !r.is_error) {
        json::document structured;
        const json::value* v = r.structured.empty() ? nullptr : structured.read(r.structured);
        decode_error e;
        if (!v) throw detail::bad_result("tool \"" + t.about.name + "\" returned no structured content");
        if (!t.output.check(*v, e, "structuredContent")) {
            throw detail::bad_result("tool \"" + t.about.name + "\": " + e.message());
        }
    }
    write_tool_result(out, r, rev, server);
}

}  // namespace

void write_tool_result(result_text& result, detail::reply& r, protocol::revision rev, const server_core& server) {
    result.before += protocol::is_modern(rev) ? R"({"resultType":"complete","content":)" : R"({"content":)";
    if (r.content.empty()) r.content = "[]";
    else if (!r.only_text && rev < protocol::revision::r2025_11_25) r.content = blocks_for(rev, r.content);
    std::string& out = result.after;
    if (!r.structured.empty() && protocol::has_structured_content(rev) &&
        (r.structured.front() == '{' || protocol::has_any_structured_content(rev))) {
        out += R"(,"structuredContent":)";
        out += r.structured;
    }
    if (r.is_error) out += R"(,"isError":true)";
    end_result(out, rev, server, r.meta);
}

namespace {

/// True if one path is the other one, or leads to it.
bool overlap(std::string_view a, std::string_view b) {
    if (a.size() > b.size()) std::swap(a, b);
    return b.starts_with(a) && (a.size() == b.size() || b[a.size()] == '.' || b[a.size()] == '[');
}

/// All errors of invalid arguments: those of the schema, and those that only decoding finds (durations, codecs, …).
std::vector<decode_error> argument_errors(const tool& t, const json::value& arguments) {
    constexpr std::size_t most = 20;
    std::vector<decode_error> all = t.input.all_errors(arguments, "arguments");
    if (!t.decode_errors) return all;
    const std::size_t of_schema = all.size();
    for (decode_error& found : t.decode_errors(arguments)) {
        if (all.size() >= most) break;
        auto same = [&](const decode_error& known) { return overlap(known.path, found.path); };
        if (std::none_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(of_schema), same)) {
            all.push_back(std::move(found));
        }
    }
    return all;
}

const json::value& arguments_of(const incoming& in) {
    static const json::value nothing = json::object();
    const json::value* arguments = in.params.find("arguments");
    return arguments && !arguments->is_null() ? *arguments : nothing;
}

}  // namespace

const std::shared_ptr<const tool>& named_tool(const incoming& in, const table<tool>& tools) {
    auto name = in.params["name"].if_string();
    if (!name) throw error(error_code::invalid_params, "name: expected string");
    if (!arguments_of(in).is_object()) throw error(error_code::invalid_params, "arguments: expected object");
    const std::shared_ptr<const tool>* found = tools.find(*name);
    if (!found) throw error(error_code::invalid_params, "unknown tool: " + rpc::printable(*name));
    return *found;
}

invocation call_of_tool(const incoming& in, const std::shared_ptr<const tool>& called) {
    const tool& t = *called;
    const json::value& arguments = arguments_of(in);
    if (t.check_input && !t.input.accepts(arguments)) detail::throw_bad_arguments(argument_errors(t, arguments));
    invocation call;
    call.offer = called;  // keeps it alive if it is removed during the call
    call.handler = &t.handler;
    call.write = &write_tool;
    call.input = &arguments;
    return call;
}

}  // namespace keel::server_side
