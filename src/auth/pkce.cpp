#include "auth/pkce.hpp"

#include "auth/digest.hpp"

#include <keel/base64.hpp>

#include <openssl/rand.h>

#include <stdexcept>

namespace keel::inline KEEL_ABI::auth {

random_bytes make_random_bytes() {
    random_bytes out{};
    if (RAND_bytes(out.data(), static_cast<int>(out.size())) != 1) throw std::runtime_error("keel: RAND_bytes failed");
    return out;
}

secret random_text(const random_bytes& bytes) {
    return secret(base64url_encode({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
}

std::string code_challenge(const secret& verifier) { return base64url_encode(sha256(verifier.reveal())); }

}  // namespace keel::auth
