#pragma once

// The objects of the protocol that both servers and clients speak of, as plain values. An empty string, list or null is
// "not given" and is left out on the wire; what a revision does not know is not sent to a peer that speaks it.

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

enum class icon_theme : unsigned char { any, light, dark };

/// A picture for user interfaces. `source` is an https: or data: URI.
struct KEEL_API icon {
    std::string source = {};
    std::string mime_type = {};
    std::vector<std::string> sizes = {};  // "48x48", "any"
    icon_theme theme = icon_theme::any;
};

/// Who something is for, how much it matters, and when it last changed.
struct KEEL_API annotations {
    std::vector<role> audience = {};
    std::optional<double> priority = {};  // 0 to 1
    std::string last_modified = {};       // ISO 8601
};

/// A program that speaks the protocol. Name and version are told to the other side.
struct KEEL_API implementation {
    std::string name = {};
    std::string version = {};
    std::string title = {};
    std::string description = {};
    std::string website_url = {};
    std::vector<icon> icons = {};
};

/// Hints about a tool, for clients that trust the server. What is not given has the protocol's default.
struct KEEL_API tool_annotations {
    std::string title = {};
    std::optional<bool> read_only = {};    // false: it may change something
    std::optional<bool> destructive = {};  // true: it may destroy something
    std::optional<bool> idempotent = {};   // false: twice is not the same as once
    std::optional<bool> open_world = {};   // true: it reaches out into the world
};

/// A tool as its server shows it.
struct KEEL_API tool {
    std::string name = {};
    std::string title = {};
    std::string description = {};
    json::value input_schema = {};   // an object schema
    json::value output_schema = {};  // null: none
    std::optional<tool_annotations> annotations = {};
    std::vector<icon> icons = {};
    json::value meta = {};
    json::value others = {};  // members that are not of the protocol as we know it; null: none
};

/// Something that can be read.
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

/// A family of resources: `uri_template` is an RFC 6570 template.
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

/// What was read: text, or bytes as Base64. Exactly one of the two is there.
struct KEEL_API resource_contents {
    std::string uri = {};
    std::string mime_type = {};
    std::optional<std::string> text = {};
    std::optional<std::string> blob = {};
    json::value meta = {};

    static resource_contents of_text(std::string uri, std::string text, std::string mime_type = "text/plain");
    /// `bytes` as they are; they are encoded here.
    static resource_contents of_bytes(std::string uri, std::string_view bytes,
                                      std::string mime_type = "application/octet-stream");
    /// The blob decoded. Nothing where there is none, or where it is no Base64.
    std::optional<std::string> bytes() const;
};

struct KEEL_API prompt_argument {
    std::string name = {};
    std::string title = {};
    std::string description = {};
    bool required = false;
};

/// A text with gaps that a person chooses and fills in.
struct KEEL_API prompt {
    std::string name = {};
    std::string title = {};
    std::string description = {};
    std::vector<prompt_argument> arguments = {};
    std::vector<icon> icons = {};
    json::value meta = {};
};

/// A directory or file that the client lets the server work in.
struct KEEL_API root {
    std::string uri = {};
    std::string name = {};
    json::value meta = {};
};

/// Proposals for the value of an argument, best first. More than 100 are cut, and `has_more` is set.
struct KEEL_API completion {
    std::vector<std::string> values = {};
    std::optional<std::int64_t> total = {};
    std::optional<bool> has_more = {};
};

/// What a client should weigh when it chooses a model. Priorities are from 0 to 1; hints are tried in order.
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
