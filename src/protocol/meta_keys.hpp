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

/// True when the prefix is one that the protocol keeps for itself: its second label is "modelcontextprotocol" or "mcp".
/// (2025-06-18 kept those where such a label is followed by another one: "mcp.dev/", "api.mcp.dev/".) Before that there
/// were no prefixes, and nothing is reserved. Keys that are not valid are not reserved.
bool is_reserved_meta_key(std::string_view key, revision = latest) noexcept;

/// VER-05: a key with a prefix.
bool is_valid_extension_id(std::string_view id) noexcept;

}  // namespace keel::protocol
