#include "auth/dpop_nonce.hpp"

#include <keel/base64.hpp>
#include <keel/secret.hpp>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <stdexcept>

namespace keel::inline KEEL_ABI::auth {

std::string dpop_nonces::nonce_of(std::int64_t window) const {
    std::array<unsigned char, 8> text{};
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<unsigned char>(window >> (8 * i));
    std::array<unsigned char, 32> mac{};
    unsigned size = 0;
    if (!HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()), text.data(), text.size(), mac.data(), &size))
        throw std::runtime_error("keel: OpenSSL: HMAC failed");
    return base64url_encode({reinterpret_cast<const char*>(mac.data()), 16});
}

bool dpop_nonces::accepts(std::string_view nonce, unix_time now) const {
    const std::int64_t window = now.time_since_epoch() / window_;
    const secret given(nonce);
    const bool fresh = secret::equal(given, secret(nonce_of(window)));
    const bool previous = secret::equal(given, secret(nonce_of(window - 1)));
    return fresh || previous;
}

}  // namespace keel::auth
