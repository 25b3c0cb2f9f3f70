#include "client/tool_catalog.hpp"

#include "client/response_cache.hpp"

#include <keel/error.hpp>

#include <cstdint>
#include <variant>

namespace keel::inline KEEL_ABI::client_side {

namespace {

std::string quoted(std::string_view name) {
    std::string out;
    return json::write_string(out, name.substr(0, 128)) ? out : "(not UTF-8)";
}

/// The header name with the case of the schema. Servers ignore the case, but people read logs.
std::string spelled_header(const json::value& input_schema, const std::vector<std::string>& path) {
    const json::value* at = &input_schema;
    for (const std::string& name : path) at = &(*at)["properties"][name];
    return "Mcp-Param-" + std::string((*at)["x-mcp-header"].as_string());
}

}  // namespace

void tool_catalog::add(std::vector<tool>& page, bool mirrored, const reporter& report, bool remember) {
    std::erase_if(page, [&](const tool& t) {
        known_tool known;
        if (mirrored) {
            auto found = protocol::mirrored_parameters(t.input_schema);
            if (auto* wrong = std::get_if<protocol::mirrored_schema_error>(&found)) {
                if (remember) drop(t.name);
                if (report) report("the tool " + quoted(t.name) + " cannot be used over HTTP: " + wrong->what);
                return true;
            }
            for (auto& p : std::get<0>(found)) {
                known.mirrored.push_back({spelled_header(t.input_schema, p.path), std::move(p.path)});
            }
        }
        if (!remember) return false;
        known.output_document = t.output_schema;
        keep(t.name, std::move(known), report);
        return false;
    });
}

void tool_catalog::keep(const std::string& name, known_tool learned, const reporter& report) {
    drop(name);
    if (tools_.size() >= max_tools) {
        return report_full("the server has more than " + std::to_string(max_tools) + " tools", report);
    }
    learned.bytes = sizeof(known_tool) + name.size();
    for (const parameter& p : learned.mirrored) {
        learned.bytes += sizeof p + p.header.size();
        for (const std::string& step : p.path) learned.bytes += sizeof step + step.size();
    }
    const std::size_t output_size = learned.output_document.is_null() ? 0 : footprint(learned.output_document);
    const bool fits = bytes_ + learned.bytes + output_size <= max_bytes;
    if (fits) learned.bytes += output_size;
    else learned.output_document = json::value();
    const bool fits_without = bytes_ + learned.bytes <= max_bytes;
    if (!fits) {
        report_full("the server's tool list takes more than " + std::to_string(max_bytes >> 20) + " MiB", report);
    }
    if (!fits_without) return;
    bytes_ += learned.bytes;
    tools_.emplace(name, std::move(learned));
}

void tool_catalog::drop(const std::string& name) {
    auto known = tools_.find(name);
    if (known == tools_.end()) return;
    bytes_ -= known->second.bytes;
    tools_.erase(known);
}

void tool_catalog::report_full(const std::string& why, const reporter& report) {
    if (!std::exchange(full_, true) && report) report(why + ": results of the other tools are not validated");
}

tool_catalog::header_list tool_catalog::headers_for(std::string_view name, const json::value& arguments) const {
    header_list headers;
    auto known = tools_.find(name);
    if (known == tools_.end()) return headers;
    for (const parameter& p : known->second.mirrored) {
        const json::value* v = protocol::argument_at(arguments, p.path);
        if (v == nullptr) continue;
        // By the type of the value, not of the schema: the server reports arguments of the wrong type. Arrays and objects have no
        // header.
        if (auto text = v->if_string()) {
            headers.emplace_back(p.header, protocol::encode_mirrored(*text));
        } else if (auto flag = v->if_bool()) {
            headers.emplace_back(p.header, *flag ? "true" : "false");
        } else if (v->is_number()) {
            const std::optional<std::int64_t> n = protocol::mirrored_integer(*v);
            if (!n) {
                std::string where = "arguments";
                for (const std::string& step : p.path) where.append(".").append(step);
                throw error(
                    error_kind::unavailable,
                    where + ": not an integer from -(2^53-1) to 2^53-1, so it cannot be sent in the header " + p.header,
                    error_code::invalid_params);
            }
            headers.emplace_back(p.header, std::to_string(*n));
        }
    }
    return headers;
}

std::optional<std::string> tool_catalog::check(std::string_view name, const tool_result& result,
                                               const reporter& report) {
    if (result.is_error) return std::nullopt;
    auto known = tools_.find(name);
    if (known == tools_.end()) return std::nullopt;
    known_tool& t = known->second;
    if (!t.output_document.is_null()) {
        const json::value document = std::exchange(t.output_document, json::value());
        try {
            t.output = schema(document);
        } catch (const schema_error& e) {
            if (report)
                report("results of the tool " + quoted(name) + " are not validated: its outputSchema " + e.what());
        }
    }
    if (t.output.empty()) return std::nullopt;
    if (!result.structured) {
        return "the tool " + quoted(name) + " has an outputSchema, but its result has no structuredContent";
    }
    decode_error e;
    if (t.output.check(*result.structured, e, "structuredContent")) return std::nullopt;
    return "the result of the tool " + quoted(name) + " does not match its outputSchema: " + e.message();
}

}  // namespace keel::client_side
