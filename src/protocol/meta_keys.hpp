#pragma once

// The keys of `_meta` objects, and the identifiers of extensions, which share their grammar:
//
//   key    = [prefix "/"] name
//   prefix = label *("." label)        label: a letter, then letters, digits and hyphens, not ending with a hyphen
//   name   = empty, or letters, digits, "-", "_" and "." with a letter or digit at both ends

#include "protocol/revision.hpp"

#include <string_view>

namespace keel::inline KEEL_ABI::protocol {

/// META-01.
bool is_valid_meta_key(std::string_view key) noexcept;

/// True if the prefix is reserved by the protocol: its second label is "modelcontextprotocol" or "mcp". (In 2025-06-18
/// such a label is reserved if another one follows: "mcp.dev/", "api.mcp.dev/".) Earlier revisions have no prefixes and
/// reserve nothing. Invalid keys are not reserved.
bool is_reserved_meta_key(std::string_view key, revision = latest) noexcept;

/// VER-05: an extension id is a key with a prefix.
bool is_valid_extension_id(std::string_view id) noexcept;

}  // namespace keel::protocol
