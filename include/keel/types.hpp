#pragma once

// Protocol types that servers and clients share, as plain structs. Empty strings, empty lists and null are omitted from the JSON;
// members that the peer's protocol revision does not have are not sent.

#include <keel/json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI {

enum class role : unsigned char { user, assistant };

/// The lists of a server that have change notifications. Resource templates belong to `resources`.
enum class list_kind : unsigned char { tools, resources, prompts };

enum class icon_theme : unsigned char { any, light, dark };

/// An icon for user interfaces. `source` is an https: or data: URI.
struct KEEL_API icon {
    std::string source = {};
    std::string mime_type = {};
    std::vector<std::string> sizes = {};  // "48x48", "any"
    icon_theme theme = icon_theme::any;
};

/// Audience, priority and time of the last change of content or a resource.
struct KEEL_API annotations {
    std::vector<role> audience = {};
    std::optional<double> priority = {};  // 0 to 1
    std::string last_modified = {};       // ISO 8601
};

/// Name and version of a client or server, sent to the peer.
struct KEEL_API implementation {
    std::string name = {};
    std::string version = {};
    std::string title = {};
    std::string description = {};
    std::string website_url = {};
    std::vector<icon> icons = {};
};

/// Hints about a tool, for clients that trust the server. A missing hint has the default of the protocol, given here.
struct KEEL_API tool_annotations {
    std::string title = {};
    std::optional<bool> read_only = {};    // false: may modify its environment
    std::optional<bool> destructive = {};  // true: may delete or overwrite data
    std::optional<bool> idempotent = {};   // false: repeated calls may have further effects
    std::optional<bool> open_world = {};   // true: interacts with external systems
};

/// A tool in the list of a server.
struct KEEL_API tool {
    std::string name = {};
    std::string title = {};
    std::string description = {};
    json::value input_schema = {};   // an object schema
    json::value output_schema = {};  // null: none
    std::optional<tool_annotations> annotations = {};
    std::vector<icon> icons = {};
    json::value meta = {};
    json::value others = {};  // unknown members; null: none
};

/// A resource that clients can read.
struct KEEL_API resource {
    std::string uri = {};
    std::string name = {};
    std::string title = {};
    std::string description = {};
    std::string mime_type = {};
    std::optional<std::int64_t> size = {};  // bytes
    std::optional<keel::annotations> annotations = {};
    std::vector<icon> icons = {};
    json::value meta = {};
};

/// A set of resources whose URIs match `uri_template` (RFC 6570).
struct KEEL_API resource_template {
    std::string uri_template = {};
    std::string name = {};
    std::string title = {};
    std::string description = {};
    std::string mime_type = {};
    std::optional<keel::annotations> annotations = {};
    std::vector<icon> icons = {};
    json::value meta = {};
};

/// The contents of a resource: either text, or bytes as Base64 in `blob`.
struct KEEL_API resource_contents {
    std::string uri = {};
    std::string mime_type = {};
    std::optional<std::string> text = {};
    std::optional<std::string> blob = {};
    json::value meta = {};

    static resource_contents of_text(std::string uri, std::string text, std::string mime_type = "text/plain");
    /// `bytes` are raw bytes; the function encodes them as Base64.
    static resource_contents of_bytes(std::string uri, std::string_view bytes,
                                      std::string mime_type = "application/octet-stream");
    /// The decoded blob. Returns nullopt if there is no blob or it is invalid Base64.
    std::optional<std::string> bytes() const;
};

struct KEEL_API prompt_argument {
    std::string name = {};
    std::string title = {};
    std::string description = {};
    bool required = false;
};

/// A message template with arguments that the user selects.
struct KEEL_API prompt {
    std::string name = {};
    std::string title = {};
    std::string description = {};
    std::vector<prompt_argument> arguments = {};
    std::vector<icon> icons = {};
    json::value meta = {};
};

/// A directory or file that the client gives the server access to.
struct KEEL_API root {
    std::string uri = {};
    std::string name = {};
    json::value meta = {};
};

/// Suggested values for an argument, best first. At most 100 are sent; if there are more, `has_more` is set.
struct KEEL_API completion {
    std::vector<std::string> values = {};
    std::optional<std::int64_t> total = {};
    std::optional<bool> has_more = {};
};

/// The server's preferences for the client's choice of a model. Priorities are from 0 to 1; hints are evaluated in order.
struct KEEL_API model_hint {
    std::string name = {};
};
struct KEEL_API model_preferences {
    std::vector<model_hint> hints = {};
    std::optional<double> cost_priority = {};
    std::optional<double> speed_priority = {};
    std::optional<double> intelligence_priority = {};
};

}  // namespace keel
