#include "auth/signing_key.hpp"

#include "auth/openssl.hpp"
#include "auth/signature.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <stdexcept>
#include <utility>

namespace keel::inline KEEL_ABI::auth {

namespace {

using memory_bio = std::unique_ptr<BIO, openssl_free<BIO_free>>;

/// Never asks for a passphrase, which would block and read the terminal.
int no_passphrase(char*, int, int, void*) { return 0; }

}  // namespace

signing_key::signing_key(std::shared_ptr<EVP_PKEY> key)
    : key_(std::move(key)), public_(public_key::from_native(key_)) {}

signing_key signing_key::from_pem(const secret& pem) {
    const memory_bio in(BIO_new_mem_buf(pem.reveal().data(), static_cast<int>(pem.size())));
    EVP_PKEY* key = in ? PEM_read_bio_PrivateKey(in.get(), nullptr, no_passphrase, nullptr) : nullptr;
    if (!key) {
        ERR_clear_error();
        throw std::invalid_argument("keel: invalid private key: an unencrypted private key in PEM is expected");
    }
    return signing_key(shared_key(key));
}

signing_key signing_key::make_es256() {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    require_openssl(key != nullptr, "making a key");
    return signing_key(shared_key(key));
}

secret signing_key::pem() const {
    // Secure memory BIOs overwrite their buffer when they are freed.
    const memory_bio out(BIO_new(BIO_s_secmem()));
    require_openssl(out && PEM_write_bio_PrivateKey(out.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1,
                    "writing a key");
    char* text = nullptr;
    const long size = BIO_get_mem_data(out.get(), &text);
    return secret({text, static_cast<std::size_t>(size)});
}

algorithm signing_key::default_algorithm() const noexcept {
    for (algorithm a : {algorithm::es256, algorithm::es384, algorithm::es512, algorithm::eddsa}) {
        if (fits(a)) return a;
    }
    return algorithm::rs256;
}

std::string signing_key::sign(algorithm a, std::string_view text) const {
    if (!fits(a)) throw std::invalid_argument("keel: the key cannot sign with " + std::string(name_of(a)));
    return make_signature(key_.get(), a, text);
}

}  // namespace keel::auth
