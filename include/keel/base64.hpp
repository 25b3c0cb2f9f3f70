#pragma once

// Base64 (RFC 4648), for the binary contents of resources, images and sounds.

#include <keel/version.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI {

/// The usual alphabet, padded with '='.
KEEL_API std::string base64_encode(std::string_view bytes);
/// Strict: the one text that base64_encode makes of these bytes, or nothing. No white space, no missing padding, no
/// stray bits in the last character.
KEEL_API std::optional<std::string> base64_decode(std::string_view text);

/// The alphabet that is safe in URLs and file names, without padding.
KEEL_API std::string base64url_encode(std::string_view bytes);
/// As strict as base64_decode; padding is refused.
KEEL_API std::optional<std::string> base64url_decode(std::string_view text);

}  // namespace keel
