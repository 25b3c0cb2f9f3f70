#pragma once

// Capabilities of clients and servers. Unknown capabilities are kept in `others`, so that they can be passed on.

#include <keel/describe.hpp>
#include <keel/json.hpp>

#include <map>
#include <optional>
#include <string>

namespace keel::inline KEEL_ABI::protocol {

/// Extension identifiers with their settings.
using extension_map = std::map<std::string, json::value>;

struct roots_capability {
    std::optional<bool> list_changed = {};
    json::value others = {};
};
KEEL_DESCRIBE(roots_capability, (list_changed, wire("listChanged")), (others, rest))

/// Each is an object, possibly empty; null if not declared.
struct sampling_capability {
    json::value context = {};
    json::value tools = {};
    json::value others = {};
};
KEEL_DESCRIBE(sampling_capability, (context, omit_empty), (tools, omit_empty), (others, rest))

/// If neither is declared, only forms are supported.
struct elicitation_capability {
    json::value form = {};
    json::value url = {};
    json::value others = {};

    bool takes_forms() const noexcept { return !form.is_null() || url.is_null(); }
    bool takes_urls() const noexcept { return !url.is_null(); }
};
KEEL_DESCRIBE(elicitation_capability, (form, omit_empty), (url, omit_empty), (others, rest))

struct client_capabilities {
    std::optional<roots_capability> roots = {};
    std::optional<sampling_capability> sampling = {};
    std::optional<elicitation_capability> elicitation = {};
    extension_map extensions = {};
    json::value experimental = {};
    json::value others = {};
};
KEEL_DESCRIBE(client_capabilities, roots, sampling, elicitation, (extensions, omit_empty), (experimental, omit_empty),
              (others, rest))

/// For tools and prompts.
struct list_capability {
    std::optional<bool> list_changed = {};
    json::value others = {};
};
KEEL_DESCRIBE(list_capability, (list_changed, wire("listChanged")), (others, rest))

struct resources_capability {
    std::optional<bool> subscribe = {};
    std::optional<bool> list_changed = {};
    json::value others = {};
};
KEEL_DESCRIBE(resources_capability, subscribe, (list_changed, wire("listChanged")), (others, rest))

struct server_capabilities {
    std::optional<list_capability> tools = {};
    std::optional<resources_capability> resources = {};
    std::optional<list_capability> prompts = {};
    json::value completions = {};  // an object, usually empty; null if not declared
    json::value logging = {};
    extension_map extensions = {};
    json::value experimental = {};
    json::value others = {};
};
KEEL_DESCRIBE(server_capabilities, tools, resources, prompts, (completions, omit_empty), (logging, omit_empty),
              (extensions, omit_empty), (experimental, omit_empty), (others, rest))

}  // namespace keel::protocol
