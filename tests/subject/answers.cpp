// Calls that answer immediately.

#include "subject.hpp"

#include <keel/server.hpp>

#include <stdexcept>
#include <string>

namespace keel::subject {

struct text_args {
    std::string text;
};
KEEL_DESCRIBE(text_args, text)

struct speak_args {
    std::uint32_t n = 1;
    std::string text;
};
KEEL_DESCRIBE(speak_args, n, (text, keel::defaulted))

struct big_args {
    std::uint32_t bytes = 0;
};
KEEL_DESCRIBE(big_args, bytes)

enum class failing { tool, protocol, exception, number };
KEEL_DESCRIBE_ENUM(failing, tool, protocol, exception, number)

struct fail_args {
    failing kind = failing::tool;
    std::uint32_t after = 0;
};
KEEL_DESCRIBE(fail_args, kind, (after, "So many progress messages come first", keel::defaulted))

struct request_facts {
    std::string protocol_version;
    std::string principal;
    std::string client;
};
KEEL_DESCRIBE(request_facts, protocol_version, principal, client)

namespace {

void progress(context& ctx, std::uint32_t n) {
    for (std::uint32_t i = 1; i <= n; ++i) ctx.progress(i, n);
}

std::string fail(context& ctx, fail_args in) {
    progress(ctx, in.after);
    switch (in.kind) {
        case failing::tool: throw tool_failure("it did not work out");
        case failing::protocol: throw error(4242, "on purpose", json::object({{"kind", "protocol"}}));
        case failing::exception: throw std::runtime_error("an internal detail");
        case failing::number: throw 42;
    }
    return "";
}

request_facts who(context& ctx) {
    request_facts f;
    f.protocol_version = ctx.protocol_version();
    f.principal = ctx.principal();
    const json::value& client = ctx.client_info();
    if (client.is_object()) f.client = client["name"].as_string();
    return f;
}

// Its arguments are mirrored in headers of 2026-07-28.
tool_description mirrored() {
    tool_description about;
    about.name = "mirrored";
    about.description = "Says its arguments, some of which are mirrored into headers";
    about.input_schema = json::parse(R"({"type":"object","properties":{
        "region":{"type":"string","x-mcp-header":"Region"},
        "count":{"type":"integer","x-mcp-header":"Count"},
        "dry":{"type":"boolean","x-mcp-header":"Dry-Run"},
        "inner":{"type":"object","properties":{"depth":{"type":"string","x-mcp-header":"Depth"}}},
        "plain":{"type":"string"}}})");
    return about;
}

}  // namespace

void add_answers(server& s) {
    s.add_tool("echo", "Gives back the text", [](text_args in) { return in.text; }, {.quick = true});
    s.add_tool("speak", "Reports progress n times, then answers", [](context& ctx, speak_args in) {
        progress(ctx, in.n);
        return in.text;
    });
    s.add_tool("log", "Logs n messages, then answers", [](context& ctx, speak_args in) {
        for (std::uint32_t i = 1; i <= in.n; ++i) {
            ctx.log(log_level::info, json::object({{"n", i}}), "subject");
        }
        return in.text;
    });
    s.add_tool("big", "So many bytes of text", [](big_args in) { return std::string(in.bytes, 'x'); });
    s.add_tool("fail", "Fails in the way you like", &fail);
    s.add_tool("who", "What the server knows of the caller", &who, {.quick = true});
    s.add_tool(mirrored(),
               [](context&, const json::value& arguments) { return tool_result(json::to_string(arguments)); });
}

}  // namespace keel::subject
