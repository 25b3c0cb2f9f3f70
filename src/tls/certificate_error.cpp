#include "tls/certificate_error.hpp"

#include "tls/openssl_deleters.hpp"

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>

#include <ctime>
#include <memory>
#include <string_view>

namespace keel::inline KEEL_ABI::tls {

namespace {

constexpr int most_names = 4;
constexpr std::size_t longest_text = 100;

struct free_names {
    void operator()(GENERAL_NAMES* n) const noexcept { GENERAL_NAMES_free(n); }
};
/// The peer controls these bytes, and they are written to logs.
std::string printable(std::string_view text) {
    std::string made(text.substr(0, longest_text));
    for (char& c : made) {
        if (c < ' ' || c > '~') c = '?';
    }
    if (text.size() > longest_text) made += "...";
    return made;
}

std::string host_of(SSL* s) {
    if (const char* name = X509_VERIFY_PARAM_get0_host(SSL_get0_param(s), 0)) return name;
    char* address = X509_VERIFY_PARAM_get1_ip_asc(SSL_get0_param(s));
    std::string made = address ? address : "the server";
    OPENSSL_free(address);
    return made;
}

std::string text_of(const X509_NAME* name) {
    std::unique_ptr<BIO, free_bio> to(BIO_new(BIO_s_mem()));
    if (!name || !to || X509_NAME_print_ex(to.get(), name, 0, XN_FLAG_ONELINE) <= 0) return "(no name)";
    char* text = nullptr;
    long size = BIO_get_mem_data(to.get(), &text);
    return size > 0 ? '"' + printable({text, static_cast<std::size_t>(size)}) + '"' : "(no name)";
}

std::string date_of(const ASN1_TIME* when) {
    std::tm utc{};
    char text[40];
    if (!when || ASN1_TIME_to_tm(when, &utc) != 1 ||
        std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc) == 0) {
        return "an unknown date";
    }
    return text;
}

/// The name of a host; empty for other kinds of names.
std::string text_of(const GENERAL_NAME* name) {
    if (name->type != GEN_DNS && name->type != GEN_IPADD) return {};
    const ASN1_STRING* value = name->type == GEN_DNS ? name->d.dNSName : name->d.iPAddress;
    const unsigned char* bytes = ASN1_STRING_get0_data(value);
    int size = ASN1_STRING_length(value);
    if (name->type == GEN_DNS) {
        return printable({reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)});
    }
    char text[INET6_ADDRSTRLEN];
    if (size != 4 && size != 16) return {};
    return ::inet_ntop(size == 4 ? AF_INET : AF_INET6, bytes, text, sizeof text) ? text : std::string();
}

std::string names_in(const X509* certificate) {
    std::unique_ptr<GENERAL_NAMES, free_names> names(
        static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
    std::string made;
    int found = 0;
    for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
        std::string one = text_of(sk_GENERAL_NAME_value(names.get(), i));
        if (one.empty() || ++found > most_names) continue;
        made += (made.empty() ? "" : ", ") + one;
    }
    if (found > most_names) made += " and " + std::to_string(found - most_names) + " more";
    return made;
}

/// The first certificate of the chain that is outside its validity period: the server's own, or that of an issuer.
std::string out_of_time(const STACK_OF(X509) * chain, bool expired) {
    for (int i = 0; i < sk_X509_num(chain); ++i) {
        const X509* one = sk_X509_value(chain, i);
        const ASN1_TIME* bound = expired ? X509_get0_notAfter(one) : X509_get0_notBefore(one);
        int compared = X509_cmp_current_time(bound);  // -1: in the past
        if (compared == 0 || (compared < 0) != expired) continue;
        std::string whose = i == 0 ? "it" : "the certificate of its issuer " + text_of(X509_get_subject_name(one));
        return whose + (expired ? " expired on " : " is not valid before ") + date_of(bound);
    }
    return expired ? "it has expired" : "it is not valid yet";
}

std::string cause(SSL* s, long result) {
    const STACK_OF(X509)* chain = SSL_get0_verified_chain(s);  // may be incomplete
    if (sk_X509_num(chain) < 1) return X509_verify_cert_error_string(result);
    const X509* own = sk_X509_value(chain, 0);
    const X509* last = sk_X509_value(chain, sk_X509_num(chain) - 1);
    switch (result) {
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH: {
            std::string names = names_in(own);
            return names.empty() ? "it names no host" : "it is for " + names;
        }
        case X509_V_ERR_CERT_HAS_EXPIRED: return out_of_time(chain, true);
        case X509_V_ERR_CERT_NOT_YET_VALID: return out_of_time(chain, false);
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: return "it is self-signed and not trusted";
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
            return "its root " + text_of(X509_get_subject_name(last)) + " is not trusted";
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            return "its issuer " + text_of(X509_get_issuer_name(last)) + " is unknown";
        default: return X509_verify_cert_error_string(result);
    }
}

}  // namespace

std::string certificate_error(ssl_st* s) {
    long result = SSL_is_server(s) ? X509_V_OK : SSL_get_verify_result(s);
    if (result == X509_V_OK) return {};
    return "the certificate of " + host_of(s) + " was rejected: " + cause(s, result);
}

}  // namespace keel::tls
