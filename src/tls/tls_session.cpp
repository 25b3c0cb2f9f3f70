#include "tls/tls_session.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <stdexcept>

namespace keel::inline KEEL_ABI::tls {

void free_session::operator()(ssl_st* s) const noexcept { SSL_free(s); }
void free_rules::operator()(ssl_ctx_st* c) const noexcept { SSL_CTX_free(c); }

void set_common_rules(ssl_ctx_st* to) {
    require(SSL_CTX_set_min_proto_version(to, TLS1_2_VERSION) == 1, "keel: cannot enable TLS 1.2 in OpenSSL");
    SSL_CTX_set_options(to, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_security_level(to, 2);  // at least 112 bits: no short keys, no SHA-1
    // For TLS 1.2; all ciphers of TLS 1.3 are of this kind.
    require(SSL_CTX_set_cipher_list(to,
                                    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
                                    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
                                    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305") == 1,
            "keel: cannot set the cipher list in OpenSSL");
    // Sessions are resumed with tickets, which the client stores. A session cache would let peers use our memory.
    SSL_CTX_set_session_cache_mode(to, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(to, SSL_MODE_RELEASE_BUFFERS);  // an idle connection has no record buffers
    SSL_CTX_set_mode(to, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

std::string take_reason() {
    // Errors of the TLS library are the most specific, and the last of them is the cause. For other libraries the first
    // error is the cause, and later ones only show where it was detected.
    unsigned long chosen = 0;
    while (unsigned long error = ERR_get_error()) {
        if (chosen == 0 || ERR_GET_LIB(error) == ERR_LIB_SSL) chosen = error;
    }
    if (chosen == 0) return "unknown error";
    if (const char* reason = ERR_reason_error_string(chosen)) return reason;
    char text[256];
    ERR_error_string_n(chosen, text, sizeof text);
    return text;
}

void refuse(const std::string& what) { throw std::runtime_error(what + ": " + take_reason()); }

void require(bool done, const char* what) {
    if (!done) refuse(what);
}

}  // namespace keel::tls
