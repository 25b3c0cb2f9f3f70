#include "auth/signature.hpp"

#include <openssl/err.h>
#include <openssl/rsa.h>

#include <cstddef>

namespace keel::inline KEEL_ABI::auth {

namespace {

const EVP_MD* digest_of(algorithm a) {
    switch (a) {
        case algorithm::rs256:
        case algorithm::ps256:
        case algorithm::es256: return EVP_sha256();
        case algorithm::rs384:
        case algorithm::ps384:
        case algorithm::es384: return EVP_sha384();
        case algorithm::rs512:
        case algorithm::ps512:
        case algorithm::es512: return EVP_sha512();
        case algorithm::eddsa: break;
    }
    return nullptr;  // Ed25519 has a digest of its own
}

bool uses_pss(algorithm a) { return a == algorithm::ps256 || a == algorithm::ps384 || a == algorithm::ps512; }

/// The bytes of r and of s; 0 for the other algorithms.
std::size_t ecdsa_part(algorithm a) {
    switch (a) {
        case algorithm::es256: return 32;
        case algorithm::es384: return 48;
        case algorithm::es512: return 66;
        default: return 0;
    }
}

bool use_pss(EVP_PKEY_CTX* context) {
    return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1 &&
           EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) == 1;
}

/// The signature of JWS (r and s) in the form that OpenSSL expects (DER).
std::string to_der(std::string_view signature, std::size_t part) {
    const ecdsa_signature both(ECDSA_SIG_new());
    bignum r(BN_bin2bn(bytes(signature), static_cast<int>(part), nullptr));
    bignum s(BN_bin2bn(bytes(signature) + part, static_cast<int>(part), nullptr));
    require_openssl(both && r && s && ECDSA_SIG_set0(both.get(), r.get(), s.get()) == 1, "making a signature");
    static_cast<void>(r.release());  // ECDSA_SIG_set0 has taken both
    static_cast<void>(s.release());
    std::string der(static_cast<std::size_t>(i2d_ECDSA_SIG(both.get(), nullptr)), '\0');
    unsigned char* to = bytes(der);
    i2d_ECDSA_SIG(both.get(), &to);
    return der;
}

std::string from_der(std::string_view der, std::size_t part) {
    const unsigned char* from = bytes(der);
    const ecdsa_signature both(d2i_ECDSA_SIG(nullptr, &from, static_cast<long>(der.size())));
    require_openssl(both != nullptr, "reading a signature");
    std::string out(2 * part, '\0');
    require_openssl(BN_bn2binpad(ECDSA_SIG_get0_r(both.get()), bytes(out), static_cast<int>(part)) >= 0 &&
                        BN_bn2binpad(ECDSA_SIG_get0_s(both.get()), bytes(out) + part, static_cast<int>(part)) >= 0,
                    "writing a signature");
    return out;
}

}  // namespace

bool verify_signature(EVP_PKEY* key, algorithm a, std::string_view text, std::string_view signature) {
    std::string der;
    if (const std::size_t part = ecdsa_part(a)) {
        if (signature.size() != 2 * part) return false;
        der = to_der(signature, part);
        signature = der;
    } else if (signature.size() != static_cast<std::size_t>(EVP_PKEY_get_size(key))) {
        return false;  // OpenSSL accepts PSS signatures without their leading zeros
    }
    const digest_context context(EVP_MD_CTX_new());
    require_openssl(context != nullptr, "making a context");
    EVP_PKEY_CTX* parameters = nullptr;  // owned by `context`
    const bool valid =
        EVP_DigestVerifyInit(context.get(), &parameters, digest_of(a), nullptr, key) == 1 &&
        (!uses_pss(a) || use_pss(parameters)) &&
        EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(text), text.size()) == 1;
    if (!valid) ERR_clear_error();  // TLS on this thread must not find the error of an invalid token
    return valid;
}

std::string make_signature(EVP_PKEY* key, algorithm a, std::string_view text) {
    const digest_context context(EVP_MD_CTX_new());
    require_openssl(context != nullptr, "making a context");
    EVP_PKEY_CTX* parameters = nullptr;
    require_openssl(EVP_DigestSignInit(context.get(), &parameters, digest_of(a), nullptr, key) == 1 &&
                        (!uses_pss(a) || use_pss(parameters)),
                    "preparing a signature");
    std::size_t size = 0;
    require_openssl(EVP_DigestSign(context.get(), nullptr, &size, bytes(text), text.size()) == 1, "signing");
    std::string out(size, '\0');
    require_openssl(EVP_DigestSign(context.get(), bytes(out), &size, bytes(text), text.size()) == 1, "signing");
    out.resize(size);
    const std::size_t part = ecdsa_part(a);
    return part == 0 ? out : from_der(out, part);
}

}  // namespace keel::auth
