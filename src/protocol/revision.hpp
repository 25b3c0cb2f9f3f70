#pragma once

// The protocol revisions and their features.

#include <keel/version.hpp>

#include <array>
#include <optional>
#include <string_view>

namespace keel::inline KEEL_ABI::protocol {

enum class revision : unsigned char { r2024_11_05, r2025_03_26, r2025_06_18, r2025_11_25, r2026_07_28 };

inline constexpr std::array<std::string_view, 5> revision_names = {"2024-11-05", "2025-03-26", "2025-06-18",
                                                                   "2025-11-25", "2026-07-28"};
inline constexpr std::size_t revision_count = revision_names.size();
inline constexpr revision latest_legacy = revision::r2025_11_25;
inline constexpr revision latest = revision::r2026_07_28;

constexpr std::string_view name_of(revision r) noexcept { return revision_names[static_cast<std::size_t>(r)]; }

/// Version strings are opaque: find an exact match, do not compare dates.
constexpr std::optional<revision> find_revision(std::string_view name) noexcept {
    for (std::size_t i = 0; i < revision_names.size(); ++i) {
        if (revision_names[i] == name) return static_cast<revision>(i);
    }
    return std::nullopt;
}

/// A revision with a handshake.
constexpr std::optional<revision> find_legacy_revision(std::string_view name) noexcept {
    auto found = find_revision(name);
    return found && *found <= latest_legacy ? found : std::nullopt;
}

/// True for the version of a request without handshake: so far one revision has these.
constexpr bool is_modern(std::string_view version) noexcept { return version == name_of(latest); }
/// No handshake: every request carries version and capabilities.
constexpr bool is_modern(revision r) noexcept { return r >= revision::r2026_07_28; }
constexpr bool has_batches(revision r) noexcept { return r == revision::r2025_03_26; }
constexpr bool has_annotations(revision r) noexcept { return r >= revision::r2025_03_26; }
constexpr bool has_progress_message(revision r) noexcept { return r >= revision::r2025_03_26; }
constexpr bool has_titles(revision r) noexcept { return r >= revision::r2025_06_18; }
constexpr bool has_structured_content(revision r) noexcept { return r >= revision::r2025_06_18; }
/// Structured content that is not an object.
constexpr bool has_any_structured_content(revision r) noexcept { return r >= revision::r2026_07_28; }
/// Invalid arguments give a result that the model can read, not a protocol error.
constexpr bool has_argument_errors_as_results(revision r) noexcept { return r >= revision::r2025_11_25; }
constexpr bool has_completions_capability(revision r) noexcept { return r >= revision::r2025_03_26; }
/// Older revisions do not define extensions, but their peers may still send them in capabilities.
constexpr bool has_extensions(revision r) noexcept { return r >= revision::r2026_07_28; }
constexpr bool has_elicitation(revision r) noexcept { return r >= revision::r2025_06_18; }
constexpr bool has_url_elicitation(revision r) noexcept { return r >= revision::r2025_11_25; }
/// URL elicitation with an id, a completion notification, and the error that requests it.
constexpr bool has_elicitation_ids(revision r) noexcept { return r == revision::r2025_11_25; }
/// HTTP event streams begin with an event that has only an id, so that a client can resume a stream from its start.
constexpr bool has_priming_events(revision r) noexcept { return r >= revision::r2025_11_25; }
constexpr bool has_sampling_tools(revision r) noexcept { return r >= revision::r2025_11_25; }
/// Descriptions and web sites of implementations.
constexpr bool has_implementation_details(revision r) noexcept { return r >= revision::r2025_11_25; }

namespace meta_key {
inline constexpr std::string_view protocol_version = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view client_capabilities = "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view client_info = "io.modelcontextprotocol/clientInfo";
inline constexpr std::string_view log_level = "io.modelcontextprotocol/logLevel";
inline constexpr std::string_view server_info = "io.modelcontextprotocol/serverInfo";
}  // namespace meta_key

}  // namespace keel::protocol
