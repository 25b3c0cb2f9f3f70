#pragma once

// SHA-256.

#include <keel/version.hpp>

#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::auth {

/// The 32 bytes of the digest. Throws std::runtime_error if OpenSSL fails.
std::string sha256(std::string_view text);

}  // namespace keel::auth
