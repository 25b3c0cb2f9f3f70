#pragma once

// Base64 (RFC 4648), for the binary contents of resources, images and audio. All functions are thread-safe.

#include <keel/version.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI {

/// Encodes with the standard alphabet and '=' padding.
KEEL_API std::string base64_encode(std::string_view bytes);
/// Decodes the standard alphabet. Returns nullopt unless `text` is exactly what base64_encode produces: white space, missing
/// padding and non-zero unused bits are invalid.
KEEL_API std::optional<std::string> base64_decode(std::string_view text);

/// Encodes with the URL-safe alphabet, without padding.
KEEL_API std::string base64url_encode(std::string_view bytes);
/// Decodes the URL-safe alphabet, as strictly as base64_decode. Padding is invalid.
KEEL_API std::optional<std::string> base64url_decode(std::string_view text);

}  // namespace keel
