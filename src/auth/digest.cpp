#include "auth/digest.hpp"

#include <openssl/evp.h>

#include <stdexcept>

namespace keel::inline KEEL_ABI::auth {

std::string sha256(std::string_view text) {
    std::string out(32, '\0');
    std::size_t size = 0;
    if (EVP_Q_digest(nullptr, "SHA256", nullptr, text.data(), text.size(), reinterpret_cast<unsigned char*>(out.data()),
                     &size) != 1 ||
        size != out.size())
        throw std::runtime_error("keel: OpenSSL: SHA-256 failed");
    return out;
}

}  // namespace keel::auth
