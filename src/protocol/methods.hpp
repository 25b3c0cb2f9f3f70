#pragma once

// The requests of clients, and the revisions that have them.

#include "protocol/revision.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace keel::inline KEEL_ABI::protocol {

enum class method : std::uint8_t {
    tools_call,
    tools_list,
    resources_read,
    resources_list,
    resources_templates_list,
    resources_subscribe,
    resources_unsubscribe,
    prompts_get,
    prompts_list,
    completion_complete,
    subscriptions_listen,
    logging_set_level,
    server_discover,
    ping,
    initialize,
    other,  // a custom or unknown method
};

struct method_info {
    std::string_view name;
    revision first;
    revision last;
};

inline constexpr std::size_t method_count = static_cast<std::size_t>(method::other);

/// In the order of the enumeration: the most frequent first.
inline constexpr std::array<method_info, method_count> methods = {{
    {"tools/call", revision::r2024_11_05, latest},
    {"tools/list", revision::r2024_11_05, latest},
    {"resources/read", revision::r2024_11_05, latest},
    {"resources/list", revision::r2024_11_05, latest},
    {"resources/templates/list", revision::r2024_11_05, latest},
    {"resources/subscribe", revision::r2024_11_05, latest_legacy},
    {"resources/unsubscribe", revision::r2024_11_05, latest_legacy},
    {"prompts/get", revision::r2024_11_05, latest},
    {"prompts/list", revision::r2024_11_05, latest},
    {"completion/complete", revision::r2024_11_05, latest},
    {"subscriptions/listen", revision::r2026_07_28, latest},
    {"logging/setLevel", revision::r2024_11_05, latest_legacy},
    {"server/discover", revision::r2026_07_28, latest},
    {"ping", revision::r2024_11_05, latest_legacy},
    {"initialize", revision::r2024_11_05, latest_legacy},
}};

constexpr method find_method(std::string_view name) noexcept {
    for (std::size_t i = 0; i < method_count; ++i) {
        if (methods[i].name == name) return static_cast<method>(i);
    }
    return method::other;
}

constexpr const method_info& info_of(method m) noexcept { return methods[static_cast<std::size_t>(m)]; }

/// A method that the revision in force lacks is an unknown method.
constexpr bool exists_in(method m, revision r) noexcept {
    return m != method::other && r >= info_of(m).first && r <= info_of(m).last;
}

/// True if clients may cache the result (revision 2026-07-28).
constexpr bool is_cacheable(method m) noexcept {
    return m == method::tools_list || m == method::resources_list || m == method::resources_templates_list ||
           m == method::prompts_list || m == method::resources_read || m == method::server_discover;
}

/// True if the result may be input_required (revision 2026-07-28).
constexpr bool may_ask(method m) noexcept {
    return m == method::tools_call || m == method::prompts_get || m == method::resources_read;
}

}  // namespace keel::protocol
