#pragma once

// What a client needs to speak TLS: whom to trust, and the rules.

#include "tls/tls_session.hpp"

#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::tls {

/// Client side: TLS 1.2 and 1.3 under the same rules as the server's. A server must show a certificate for the host
/// that was asked for, with a chain to somebody we trust. It is offered "http/1.1" as the application protocol and
/// may stay silent about it. One that asks for our certificate gets none. Sessions are not resumed.
///
/// Any thread may call anything.
class tls_client_context {
public:
    /// Trusts what the system trusts (SSL_CERT_FILE and SSL_CERT_DIR say otherwise), or only what is in a PEM file:
    /// each certificate in it, also one that another has signed. A file that cannot be read throws
    /// std::system_error, one that cannot be used std::runtime_error, with a sentence that names it.
    explicit tls_client_context(std::string ca_file = {});

    /// The client's side of a new connection, without its input and output. `host` is the name or the address in the
    /// URL, with or without the brackets of IPv6; a name that is not ASCII must be in its ASCII form. Throws
    /// std::invalid_argument for what cannot be a host.
    session new_session(std::string_view host) const;

private:
    rules rules_;
};

}  // namespace keel::tls
