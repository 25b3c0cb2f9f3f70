#pragma once

// One side of a TLS connection, and the rules shared by client and server.

#include <keel/version.hpp>

#include <memory>
#include <string>
#include <string_view>

// Forward declarations of SSL and SSL_CTX, so that OpenSSL's headers are included only in .cpp files.
struct ssl_st;
struct ssl_ctx_st;

namespace keel::inline KEEL_ABI::tls {

struct free_session {
    void operator()(ssl_st*) const noexcept;
};
using session = std::unique_ptr<ssl_st, free_session>;

struct free_rules {
    void operator()(ssl_ctx_st*) const noexcept;
};
/// The settings of new sessions. Reference-counted by OpenSSL: sessions keep it alive.
using rules = std::unique_ptr<ssl_ctx_st, free_rules>;

/// The only supported application protocol (ALPN).
inline constexpr std::string_view http_1_1 = "http/1.1";

/// TLS 1.2 and 1.3, only ciphers with forward secrecy and authenticated encryption, no compression, no renegotiation,
/// no session cache.
void set_common_rules(ssl_ctx_st*);

/// Returns and clears the error of OpenSSL's last call on this thread.
std::string take_reason();
/// Throws std::runtime_error with that reason.
[[noreturn]] void refuse(const std::string& what);
void require(bool done, const char* what);

}  // namespace keel::tls
