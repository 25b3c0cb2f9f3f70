#pragma once

// The TLS settings of a client: trusted certificates and the common rules.

#include "tls/tls_session.hpp"

#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::tls {

/// Client side: TLS 1.2 and 1.3 with the same rules as the server. The server must present a certificate for the
/// requested host with a chain to a trusted CA. The client offers "http/1.1" (ALPN); the server need not select it. The
/// client has no certificate of its own. Sessions are not resumed.
///
/// Thread-safe.
class tls_client_context {
public:
    /// Trusts the CA certificates of the system (see SSL_CERT_FILE and SSL_CERT_DIR), or only those in a PEM file: each
    /// certificate in it, including intermediate ones. Throws std::system_error if the file cannot be read, and
    /// std::runtime_error if it contains no usable certificate. The message names the file.
    explicit tls_client_context(std::string ca_file = {});

    /// The client's side of a new connection, without input and output. `host` is the name or IP address in the URL,
    /// with or without the brackets of IPv6; an internationalized name must be in its ASCII form. Throws
    /// std::invalid_argument if the host is invalid.
    session new_session(std::string_view host) const;

private:
    rules rules_;
};

}  // namespace keel::tls
