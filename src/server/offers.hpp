#pragma once

// The entries of a server's registries: validated on construction, with compiled schemas and patterns.

#include "protocol/mirrored_headers.hpp"
#include "protocol/revision.hpp"
#include "protocol/uri_template.hpp"
#include "server/registry.hpp"

#include <keel/prompt_handler.hpp>
#include <keel/resource.hpp>
#include <keel/schema.hpp>
#include <keel/tool.hpp>

#include <string>
#include <vector>

namespace keel::inline KEEL_ABI::server_side {

// Each constructor throws std::invalid_argument with the entry and the field if the entry is invalid.

struct tool {
    static constexpr const char* kind = "tool";
    explicit tool(detail::tool_entry entry);
    const std::string& key() const noexcept { return about.name; }
    json::value describe(protocol::revision r) const;

    tool_description about;
    detail::handler handler;
    // Typed input and output need no schema check: decoding has validated the input, and the output's type is its schema.
    bool check_input;
    bool check_output;
    std::vector<decode_error> (*decode_errors)(const json::value& arguments);  // null: an untyped tool
    schema input;
    schema output;
    std::uint16_t stats_slot = 0;                        // see method_stats
    std::vector<protocol::mirrored_parameter> mirrored;  // arguments that HTTP clients repeat in headers
};

/// Throws like the constructor of resource_offer.
void check_resource(const resource& about);

struct resource_offer {
    static constexpr const char* kind = "resource";
    explicit resource_offer(detail::resource_entry entry);
    const std::string& key() const noexcept { return about.uri; }
    json::value describe(protocol::revision r) const;

    resource about;
    detail::handler handler;
    std::optional<cache_hint> cache;
};

struct template_offer {
    static constexpr const char* kind = "resource template";
    explicit template_offer(detail::template_entry entry);
    const std::string& key() const noexcept { return about.uri_template; }
    json::value describe(protocol::revision r) const;

    resource_template about;
    detail::handler handler;
    template_options options;
    protocol::uri_template pattern;
};

struct prompt_offer {
    static constexpr const char* kind = "prompt";
    explicit prompt_offer(detail::prompt_entry entry);
    const std::string& key() const noexcept { return about.name; }
    json::value describe(protocol::revision r) const;

    prompt about;
    detail::handler handler;
    std::map<std::string, completer> complete;
};

struct method_offer {
    static constexpr const char* kind = "method";
    std::string name;
    detail::handler handler;
    std::uint16_t stats_slot = 0;  // see method_stats
    const std::string& key() const noexcept { return name; }
    json::value describe(protocol::revision) const { return {}; }
};

}  // namespace keel::server_side
