#pragma once

// One side of one TLS connection, and the rules that both sides of ours keep.

#include <keel/version.hpp>

#include <memory>
#include <string>
#include <string_view>

// OpenSSL's own names for SSL and SSL_CTX: its headers stay in the .cpp files.
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
/// What sessions begin with. Counted by OpenSSL: it lives on with the sessions that began with it.
using rules = std::unique_ptr<ssl_ctx_st, free_rules>;

/// The only application protocol we speak (ALPN).
inline constexpr std::string_view http_1_1 = "http/1.1";

/// TLS 1.2 and 1.3, ciphers with forward secrecy and authenticated encryption only, no compression, no renegotiation,
/// no cache of sessions.
void set_common_rules(ssl_ctx_st*);

/// Why OpenSSL's last call on this thread failed, in its words; forgets it.
std::string take_reason();
/// Throws std::runtime_error with that reason.
[[noreturn]] void refuse(const std::string& what);
void require(bool done, const char* what);

}  // namespace keel::tls
