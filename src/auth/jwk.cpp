#include "auth/jwk.hpp"

#include "auth/digest.hpp"
#include "auth/openssl.hpp"
#include "auth/signature.hpp"

#include <keel/base64.hpp>

#include <openssl/core_names.h>
#include <openssl/err.h>

#include <algorithm>
#include <array>

namespace keel::inline KEEL_ABI::auth {

namespace {

constexpr int least_rsa_bits = 2048;
constexpr int most_rsa_bits = 8192;

struct curve {
    const char* name;  // in a JWK and for OpenSSL
    std::size_t size;  // bytes of a coordinate
};
constexpr curve curves[] = {{"P-256", 32}, {"P-384", 48}, {"P-521", 66}};

/// The bytes of a base64url member; nullopt if it is missing or malformed.
std::optional<std::string> bytes_of(const json::value& jwk, std::string_view name) {
    const auto text = jwk[name].if_string();
    if (!text) return std::nullopt;
    return base64url_decode(*text);
}

std::shared_ptr<EVP_PKEY> make_key(const char* type, OSSL_PARAM_BLD* builder) {
    const params list(OSSL_PARAM_BLD_to_param(builder));
    const key_context context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
    EVP_PKEY* key = nullptr;
    const bool made = list && context && EVP_PKEY_fromdata_init(context.get()) == 1 &&
                      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, list.get()) == 1;
    if (!made) ERR_clear_error();
    return made ? shared_key(key) : nullptr;
}

std::shared_ptr<EVP_PKEY> rsa_key(const json::value& jwk, std::string& problem) {
    const auto n = bytes_of(jwk, "n");
    const auto e = bytes_of(jwk, "e");
    if (!n || !e || n->size() > most_rsa_bits / 8 + 1 || e->size() > 8) {
        problem = "an RSA key needs n and e in base64url, at most 8192 and 64 bits";
        return nullptr;
    }
    const bignum modulus(BN_bin2bn(bytes(*n), static_cast<int>(n->size()), nullptr));
    const bignum exponent(BN_bin2bn(bytes(*e), static_cast<int>(e->size()), nullptr));
    if (!modulus || !exponent || BN_num_bits(modulus.get()) < least_rsa_bits ||
        BN_num_bits(modulus.get()) > most_rsa_bits || BN_is_odd(modulus.get()) == 0) {
        problem = "the modulus of an RSA key must be odd and have 2048 to 8192 bits";
        return nullptr;
    }
    if (BN_is_odd(exponent.get()) == 0 || BN_is_one(exponent.get()) == 1) {
        problem = "the exponent of an RSA key must be odd and greater than 1";
        return nullptr;
    }
    const param_builder builder(OSSL_PARAM_BLD_new());
    if (!builder || OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get()) != 1 ||
        OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get()) != 1)
        return nullptr;
    auto key = make_key("RSA", builder.get());
    if (!key) problem = "OpenSSL does not accept the RSA key";
    return key;
}

std::shared_ptr<EVP_PKEY> ec_key(const json::value& jwk, std::size_t which, std::string& problem) {
    const auto x = bytes_of(jwk, "x");
    const auto y = bytes_of(jwk, "y");
    const curve& c = curves[which];
    if (!x || !y || x->size() != c.size || y->size() != c.size) {
        problem = "an EC key needs x and y in base64url, each with the full length of the curve";
        return nullptr;
    }
    const std::string point = '\x04' + *x + *y;
    const param_builder builder(OSSL_PARAM_BLD_new());
    if (!builder || OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, c.name, 0) != 1 ||
        OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()) != 1)
        return nullptr;
    auto key = make_key("EC", builder.get());
    const key_context check(key ? EVP_PKEY_CTX_new_from_pkey(nullptr, key.get(), nullptr) : nullptr);
    if (!check || EVP_PKEY_public_check(check.get()) != 1) {
        ERR_clear_error();
        problem = "the point of the EC key is not on its curve";
        return nullptr;
    }
    return key;
}

std::shared_ptr<EVP_PKEY> ed25519_key(const json::value& jwk, std::string& problem) {
    const auto x = bytes_of(jwk, "x");
    EVP_PKEY* key =
        x && x->size() == 32 ? EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes(*x), x->size()) : nullptr;
    if (!key) {
        ERR_clear_error();
        problem = "an Ed25519 key needs x: 32 bytes in base64url";
        return nullptr;
    }
    return shared_key(key);
}

std::string bignum_text(EVP_PKEY* key, const char* name, std::size_t size = 0) {
    BIGNUM* found = nullptr;
    require_openssl(EVP_PKEY_get_bn_param(key, name, &found) == 1, "reading a key");
    const bignum n(found);
    std::string out(size != 0 ? size : static_cast<std::size_t>(BN_num_bytes(n.get())), '\0');
    require_openssl(BN_bn2binpad(n.get(), bytes(out), static_cast<int>(out.size())) >= 0, "reading a key");
    return base64url_encode(out);
}

/// False if the key is for something other than verifying signatures.
bool is_for_signatures(const json::value& jwk) {
    if (const json::value* use = jwk.find("use"); use && *use != "sig") return false;
    const json::value* operations = jwk.find("key_ops");
    if (!operations) return true;
    const auto list = operations->items();
    return std::any_of(list.begin(), list.end(), [](const json::value& each) { return each == "verify"; });
}

}  // namespace

std::optional<public_key> public_key::from_jwk(const json::value& jwk, std::string& problem) {
    if (!jwk.is_object()) {
        problem = "a key must be an object";
        return std::nullopt;
    }
    if (!is_for_signatures(jwk)) {
        problem = "the key is not for verifying signatures (use, key_ops)";
        return std::nullopt;
    }
    public_key out;
    if (const json::value* only = jwk.find("alg")) {
        out.only_ = only->is_string() ? find_algorithm(only->as_string()) : std::nullopt;
        if (!out.only_) {
            problem = "unsupported algorithm of the key (alg)";
            return std::nullopt;
        }
    }
    const json::value& type = jwk["kty"];
    const json::value& crv = jwk["crv"];
    if (type == "RSA") {
        out.family_ = family::rsa;
        out.key_ = rsa_key(jwk, problem);
    } else if (type == "OKP" && crv == "Ed25519") {
        out.family_ = family::ed25519;
        out.key_ = ed25519_key(jwk, problem);
    } else {
        std::size_t which = 0;
        while (which < std::size(curves) && crv != curves[which].name) ++which;
        if (type != "EC" || which == std::size(curves)) {
            problem = "unsupported type of key (kty, crv)";
            return std::nullopt;
        }
        out.family_ = static_cast<family>(static_cast<std::size_t>(family::p256) + which);
        out.key_ = ec_key(jwk, which, problem);
    }
    if (!out.key_) return std::nullopt;
    if (out.only_ && !out.fits(*out.only_)) {
        problem = "the algorithm of the key (alg) does not fit its type";
        return std::nullopt;
    }
    out.id_ = jwk.value_or("kid", "");
    out.canonical_ = canonical(out.key_.get(), out.family_);
    out.thumbprint_ = base64url_encode(sha256(out.canonical_));
    return out;
}

public_key public_key::from_native(std::shared_ptr<EVP_PKEY> key) {
    public_key out;
    std::array<char, 32> group{};
    if (EVP_PKEY_is_a(key.get(), "ED25519") == 1) {
        out.family_ = family::ed25519;
    } else if (EVP_PKEY_is_a(key.get(), "RSA") == 1) {
        const int bits = EVP_PKEY_get_bits(key.get());
        if (bits < least_rsa_bits || bits > most_rsa_bits)
            throw std::invalid_argument("keel: an RSA key must have 2048 to 8192 bits");
        out.family_ = family::rsa;
    } else if (EVP_PKEY_is_a(key.get(), "EC") == 1 &&
               EVP_PKEY_get_group_name(key.get(), group.data(), group.size(), nullptr) == 1) {
        const std::string_view name = group.data();
        if (name == "prime256v1" || name == "P-256") out.family_ = family::p256;
        else if (name == "secp384r1" || name == "P-384") out.family_ = family::p384;
        else if (name == "secp521r1" || name == "P-521") out.family_ = family::p521;
        else throw std::invalid_argument("keel: unsupported elliptic curve: " + std::string(name));
    } else {
        throw std::invalid_argument("keel: unsupported type of key: use RSA, EC (P-256, P-384, P-521) or Ed25519");
    }
    out.key_ = std::move(key);
    out.canonical_ = canonical(out.key_.get(), out.family_);
    out.thumbprint_ = base64url_encode(sha256(out.canonical_));
    return out;
}

std::string public_key::canonical(EVP_PKEY* key, family f) {
    if (f == family::rsa) {
        return R"({"e":")" + bignum_text(key, OSSL_PKEY_PARAM_RSA_E) + R"(","kty":"RSA","n":")" +
               bignum_text(key, OSSL_PKEY_PARAM_RSA_N) + R"("})";
    }
    if (f == family::ed25519) {
        std::string x(32, '\0');
        std::size_t size = x.size();
        require_openssl(EVP_PKEY_get_raw_public_key(key, bytes(x), &size) == 1, "reading a key");
        return R"({"crv":"Ed25519","kty":"OKP","x":")" + base64url_encode(x) + R"("})";
    }
    const curve& c = curves[static_cast<std::size_t>(f) - static_cast<std::size_t>(family::p256)];
    return R"({"crv":")" + std::string(c.name) + R"(","kty":"EC","x":")" +
           bignum_text(key, OSSL_PKEY_PARAM_EC_PUB_X, c.size) + R"(","y":")" +
           bignum_text(key, OSSL_PKEY_PARAM_EC_PUB_Y, c.size) + R"("})";
}

bool public_key::fits(algorithm a) const noexcept {
    if (only_ && *only_ != a) return false;
    switch (a) {
        case algorithm::es256: return family_ == family::p256;
        case algorithm::es384: return family_ == family::p384;
        case algorithm::es512: return family_ == family::p521;
        case algorithm::eddsa: return family_ == family::ed25519;
        default: return family_ == family::rsa;
    }
}

bool public_key::verify(algorithm a, std::string_view text, std::string_view signature) const {
    return fits(a) && verify_signature(key_.get(), a, text, signature);
}

json::value public_key::jwk() const { return json::parse(canonical_); }

std::optional<key_set> key_set::parse(std::string_view text, std::string& problem) {
    json::document document;
    const json::value* root = document.read(text, {.max_depth = 32});
    const json::value* list = root ? root->find("keys") : nullptr;
    if (!list || !list->is_array()) {
        problem = "not a JWK set: an object with the array \"keys\" is expected";
        return std::nullopt;
    }
    key_set out;
    for (const json::value& each : list->items()) {
        if (out.keys_.size() == max_keys) break;
        std::string skipped;
        if (auto key = public_key::from_jwk(each, skipped)) out.keys_.push_back(std::move(*key));
    }
    return out;
}

bool key_set::contains(std::string_view thumbprint) const noexcept {
    return std::any_of(keys_.begin(), keys_.end(), [&](const public_key& k) { return k.thumbprint() == thumbprint; });
}

std::vector<const public_key*> key_set::candidates(algorithm a, std::string_view kid) const {
    std::vector<const public_key*> named;
    std::vector<const public_key*> unnamed;
    for (const public_key& key : keys_) {
        if (!key.fits(a)) continue;
        if (kid.empty() || key.id() == kid) named.push_back(&key);
        else if (key.id().empty()) unnamed.push_back(&key);
    }
    return named.empty() ? unnamed : named;
}

}  // namespace keel::auth
