#pragma once

// Deleters for std::unique_ptr to objects of OpenSSL.

#include <keel/version.hpp>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

namespace keel::inline KEEL_ABI::tls {

struct free_bio {
    void operator()(BIO* b) const noexcept { BIO_free(b); }
};
struct free_certificate {
    void operator()(X509* c) const noexcept { X509_free(c); }
};
struct free_key {
    void operator()(EVP_PKEY* k) const noexcept { EVP_PKEY_free(k); }
};

}  // namespace keel::tls
