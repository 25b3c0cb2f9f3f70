#include "tls/tls_client_context.hpp"

#include "transport/descriptor.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>

#include <algorithm>
#include <stdexcept>

namespace keel::inline KEEL_ABI::tls {

namespace {

constexpr std::size_t longest_name = 253;  // RFC 1035, as text

void trust_file(SSL_CTX* to, const std::string& path) {
    transport::descriptor readable(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!readable) transport::throw_errno("cannot read the CA file " + path);
    if (SSL_CTX_load_verify_file(to, path.c_str()) != 1)
        refuse("the file " + path + " contains no usable CA certificate");
    // Trust each certificate in the file, whether or not it is self-signed.
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(to), X509_V_FLAG_PARTIAL_CHAIN);
}

void offer_http(SSL_CTX* to) {
    std::string offer(1, static_cast<char>(http_1_1.size()));
    offer += http_1_1;
    require(SSL_CTX_set_alpn_protos(to, reinterpret_cast<const unsigned char*>(offer.data()),
                                    static_cast<unsigned>(offer.size())) == 0,
            "keel: cannot set the ALPN protocol in OpenSSL");
}

/// In network byte order: 4 or 16 bytes, or empty if the host is not an IP address.
std::string address_bytes(const std::string& host) {
    char room[sizeof(in6_addr)];
    if (host.find('\0') != std::string::npos) return {};  // inet_pton would ignore everything after the null character
    if (::inet_pton(AF_INET, host.c_str(), room) == 1) return std::string(room, sizeof(in_addr));
    // The zone id selects a local interface; certificates do not contain it.
    if (::inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), room) == 1) {
        return std::string(room, sizeof(in6_addr));
    }
    return {};
}

std::string plain_host(std::string_view host) {
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    if (host.ends_with('.')) host.remove_suffix(1);
    return std::string(host);
}

/// Strict, because OpenSSL is not: it treats an empty name as "do not check", and ".x" as any name below x.
bool is_name(std::string_view host) {
    auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.';
    };
    return !host.empty() && host.size() <= longest_name && host.front() != '.' &&
           std::all_of(host.begin(), host.end(), fits);
}

}  // namespace

tls_client_context::tls_client_context(std::string ca_file) {
    ERR_clear_error();
    rules_.reset(SSL_CTX_new(TLS_client_method()));
    require(rules_ != nullptr, "keel: cannot create an OpenSSL context");
    set_common_rules(rules_.get());
    SSL_CTX_set_options(rules_.get(), SSL_OP_NO_TICKET);  // TLS 1.2: we do not resume sessions
    SSL_CTX_set_verify(rules_.get(), SSL_VERIFY_PEER, nullptr);
    offer_http(rules_.get());
    if (!ca_file.empty()) {
        trust_file(rules_.get(), ca_file);
    } else {
        require(SSL_CTX_set_default_verify_paths(rules_.get()) == 1, "cannot read the system's CA certificates");
    }
    ERR_clear_error();  // a system without CA certificates is not an error: no server is trusted then
}

session tls_client_context::new_session(std::string_view host) const {
    const std::string name = plain_host(host);
    const std::string address = address_bytes(name);
    if (address.empty() && !is_name(name)) {
        throw std::invalid_argument("cannot start a TLS connection: invalid host name");
    }
    ERR_clear_error();
    session made(SSL_new(rules_.get()));
    bool ready = made != nullptr;
    if (ready && !address.empty()) {  // RFC 6066: an IP address is not sent as a server name
        ready = X509_VERIFY_PARAM_set1_ip(SSL_get0_param(made.get()),
                                          reinterpret_cast<const unsigned char*>(address.data()), address.size()) == 1;
    } else if (ready) {
        // RFC 9525: the common name is ignored, and "*" matches exactly one label.
        SSL_set_hostflags(made.get(), X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        ready = SSL_set1_host(made.get(), name.c_str()) == 1 && SSL_set_tlsext_host_name(made.get(), name.c_str()) == 1;
    }
    if (!ready) refuse("cannot start a TLS connection to " + name);
    SSL_set_connect_state(made.get());
    return made;
}

}  // namespace keel::tls
