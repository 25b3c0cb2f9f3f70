#include "tls/tls_session.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <stdexcept>

namespace keel::inline KEEL_ABI::tls {

void free_session::operator()(ssl_st* s) const noexcept { SSL_free(s); }
void free_rules::operator()(ssl_ctx_st* c) const noexcept { SSL_CTX_free(c); }

void set_common_rules(ssl_ctx_st* to) {
    require(SSL_CTX_set_min_proto_version(to, TLS1_2_VERSION) == 1, "keel: OpenSSL refuses TLS 1.2");
    SSL_CTX_set_options(to, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_security_level(to, 2);  // at least 112 bits: no short keys, no SHA-1
    // For TLS 1.2; those of 1.3 are all of this kind.
    require(SSL_CTX_set_cipher_list(to,
                                    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
                                    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
                                    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305") == 1,
            "keel: OpenSSL refuses our ciphers");
    // Sessions are resumed by tickets, which the client keeps. A cache would be memory that peers make us keep.
    SSL_CTX_set_session_cache_mode(to, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(to, SSL_MODE_RELEASE_BUFFERS);  // an idle connection has no record buffers
    SSL_CTX_set_mode(to, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

std::string take_reason() {
    // What TLS itself says is the most telling, and the last of it most of all. In other matters the first error is the
    // cause, and those after it say where it was noticed.
    unsigned long chosen = 0;
    while (unsigned long error = ERR_get_error()) {
        if (chosen == 0 || ERR_GET_LIB(error) == ERR_LIB_SSL) chosen = error;
    }
    if (chosen == 0) return "no reason given";
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
