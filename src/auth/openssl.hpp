#pragma once

// Owners of objects of OpenSSL that src/auth uses.

#include <keel/version.hpp>

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::auth {

template <auto Free>
struct openssl_free {
    template <class T>
    void operator()(T* p) const noexcept {
        Free(p);
    }
};

using bignum = std::unique_ptr<BIGNUM, openssl_free<BN_clear_free>>;
using ecdsa_signature = std::unique_ptr<ECDSA_SIG, openssl_free<ECDSA_SIG_free>>;
using key_context = std::unique_ptr<EVP_PKEY_CTX, openssl_free<EVP_PKEY_CTX_free>>;
using digest_context = std::unique_ptr<EVP_MD_CTX, openssl_free<EVP_MD_CTX_free>>;
using param_builder = std::unique_ptr<OSSL_PARAM_BLD, openssl_free<OSSL_PARAM_BLD_free>>;
using params = std::unique_ptr<OSSL_PARAM, openssl_free<OSSL_PARAM_free>>;

/// A key that all copies of its owner share; OpenSSL only reads it.
inline std::shared_ptr<EVP_PKEY> shared_key(EVP_PKEY* key) {
    return {key, [](EVP_PKEY* k) { EVP_PKEY_free(k); }};
}

inline const unsigned char* bytes(std::string_view text) noexcept {
    return reinterpret_cast<const unsigned char*>(text.data());
}
inline unsigned char* bytes(std::string& text) noexcept { return reinterpret_cast<unsigned char*>(text.data()); }

inline void require_openssl(bool done, const char* what) {
    if (!done) throw std::runtime_error(std::string("keel: OpenSSL: ") + what + " failed");
}

}  // namespace keel::auth
