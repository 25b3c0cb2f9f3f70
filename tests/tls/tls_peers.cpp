#include "tls_peers.hpp"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <malloc.h>

namespace keel::test {

namespace {

// Counts OpenSSL's memory, so that leaks are visible as a number under every sanitizer.
std::atomic<std::size_t> held = 0;

void* count(void* p) {
    if (p) held += ::malloc_usable_size(p);
    return p;
}
void uncount(void* p) {
    if (p) held -= ::malloc_usable_size(p);
}
void* counted_malloc(std::size_t n, const char*, int) { return n == 0 ? nullptr : count(std::malloc(n)); }
void counted_free(void* p, const char*, int) {
    uncount(p);
    std::free(p);
}
void* counted_realloc(void* p, std::size_t n, const char*, int) {
    uncount(p);
    if (n == 0) {
        std::free(p);
        return nullptr;
    }
    return count(std::realloc(p, n));
}

// Must run before OpenSSL has allocated anything.
const bool counting = CRYPTO_set_mem_functions(counted_malloc, counted_realloc, counted_free) == 1;

struct opened {
    explicit opened(const std::string& path) : file(std::fopen(path.c_str(), "w")) { REQUIRE(file != nullptr); }
    opened(const opened&) = delete;
    opened& operator=(const opened&) = delete;
    ~opened() { std::fclose(file); }
    std::FILE* file;
};

void sign(X509* made, const tls::tls_files& issuer) {
    BIO* certificate = BIO_new_file(issuer.certificate_chain.c_str(), "r");
    BIO* secret = BIO_new_file(issuer.private_key.c_str(), "r");
    X509* by = PEM_read_bio_X509(certificate, nullptr, nullptr, nullptr);
    EVP_PKEY* key = PEM_read_bio_PrivateKey(secret, nullptr, nullptr, nullptr);
    REQUIRE(by != nullptr);
    X509_set_issuer_name(made, X509_get_subject_name(by));
    REQUIRE(X509_sign(made, key, EVP_sha256()) > 0);
    EVP_PKEY_free(key);
    X509_free(by);
    BIO_free(secret);
    BIO_free(certificate);
}

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                    unsigned int offered_size, void* of) {
    auto& server = *static_cast<tls_server*>(of);
    server.offered_protocols.assign(reinterpret_cast<const char*>(offered), offered_size);
    if (server.protocol.empty()) return SSL_TLSEXT_ERR_NOACK;
    if (server.protocol == "none") return SSL_TLSEXT_ERR_ALERT_FATAL;
    *chosen = reinterpret_cast<const unsigned char*>(server.protocol.data());
    *size = static_cast<unsigned char>(server.protocol.size());
    return SSL_TLSEXT_ERR_OK;
}

}  // namespace

std::size_t openssl_bytes() {
    REQUIRE(counting);
    return held;
}

tls::tls_files make_certificate(const scratch_folder& folder, const std::string& file,
                                const certificate_options& options) {
    EVP_PKEY* key = options.kind == "RSA" ? EVP_RSA_gen(options.bits) : EVP_EC_gen(options.kind.c_str());
    REQUIRE(key != nullptr);
    X509* made = X509_new();
    REQUIRE(made != nullptr);
    X509_set_version(made, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
    X509_gmtime_adj(X509_getm_notBefore(made), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made), 24 * 3600);
    X509_set_pubkey(made, key);
    X509_NAME* name = X509_get_subject_name(made);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(options.name.c_str()),
                               -1, -1, 0);
    X509_set_issuer_name(made, name);
    if (!options.not_before.empty()) ASN1_TIME_set_string(X509_getm_notBefore(made), options.not_before.c_str());
    if (!options.not_after.empty()) ASN1_TIME_set_string(X509_getm_notAfter(made), options.not_after.c_str());
    const char* authority = options.authority ? "critical,CA:TRUE" : "critical,CA:FALSE";
    for (auto [id, value] :
         {std::pair(NID_subject_alt_name, options.hosts.c_str()), std::pair(NID_basic_constraints, authority)}) {
        if (*value == '\0') continue;
        X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value);
        REQUIRE(extension != nullptr);
        X509_add_ext(made, extension, -1);
        X509_EXTENSION_free(extension);
    }
    if (options.issuer) {
        sign(made, *options.issuer);
    } else {
        REQUIRE(X509_sign(made, key, EVP_sha256()) > 0);
    }
    tls::tls_files files{folder.file(file + ".crt"), folder.file(file + ".key")};
    REQUIRE(PEM_write_X509(opened(files.certificate_chain).file, made) == 1);
    REQUIRE(PEM_write_PrivateKey(opened(files.private_key).file, key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
    X509_free(made);
    EVP_PKEY_free(key);
    return files;
}

tls_peer::tls_peer(SSL_CTX* context) : context_(context) {
    REQUIRE(context_ != nullptr);
    SSL_CTX_set_security_level(context_, 0);  // let our side refuse old versions and ciphers, not this peer
}

void tls_peer::begin() {
    SSL_set_bio(session_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    drive();
}

tls_peer::~tls_peer() {
    SSL_free(session_);
    SSL_CTX_free(context_);
}

tls_client::tls_client(const client_options& options) : tls_peer(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_min_proto_version(context_, options.version);
    SSL_CTX_set_max_proto_version(context_, options.version);
    if (!options.ciphers.empty()) REQUIRE(SSL_CTX_set_cipher_list(context_, options.ciphers.c_str()) == 1);
    session_ = SSL_new(context_);
    REQUIRE(session_ != nullptr);
    if (!options.protocols.empty()) {
        REQUIRE(SSL_set_alpn_protos(session_, reinterpret_cast<const unsigned char*>(options.protocols.data()),
                                    static_cast<unsigned>(options.protocols.size())) == 0);
    }
    SSL_set_connect_state(session_);
    begin();
}

tls_server::tls_server(const tls_server_options& options)
    : tls_peer(SSL_CTX_new(TLS_server_method())), protocol(options.protocol) {
    const tls::tls_files& files = options.certificate ? *options.certificate : common_certificate();
    SSL_CTX_set_min_proto_version(context_, options.version);
    SSL_CTX_set_max_proto_version(context_, options.version);
    if (!options.groups.empty()) REQUIRE(SSL_CTX_set1_groups_list(context_, options.groups.c_str()) == 1);
    if (!options.ciphers.empty()) REQUIRE(SSL_CTX_set_cipher_list(context_, options.ciphers.c_str()) == 1);
    REQUIRE(SSL_CTX_use_certificate_chain_file(context_, files.certificate_chain.c_str()) == 1);
    REQUIRE(SSL_CTX_use_PrivateKey_file(context_, files.private_key.c_str(), SSL_FILETYPE_PEM) == 1);
    SSL_CTX_set_alpn_select_cb(context_, choose_protocol, this);
    session_ = SSL_new(context_);
    REQUIRE(session_ != nullptr);
    SSL_set_verify(session_, options.ask_for_certificate, nullptr);
    SSL_set_accept_state(session_);
    begin();
}

std::string tls_server::name_asked_for() const {
    const char* name = SSL_get_servername(session_, TLSEXT_NAMETYPE_host_name);
    return name ? name : "";
}

void tls_peer::feed(std::string_view cipher) {
    if (!cipher.empty()) {
        REQUIRE(BIO_write(SSL_get_rbio(session_), cipher.data(), static_cast<int>(cipher.size())) ==
                static_cast<int>(cipher.size()));
    }
    drive();
}

std::string tls_peer::take_output() {
    BIO* from = SSL_get_wbio(session_);
    std::string all(BIO_ctrl_pending(from), '\0');
    if (!all.empty()) REQUIRE(BIO_read(from, all.data(), static_cast<int>(all.size())) == static_cast<int>(all.size()));
    return all;
}

void tls_peer::send(std::string_view plain) {
    ERR_clear_error();
    REQUIRE(SSL_write(session_, plain.data(), static_cast<int>(plain.size())) == static_cast<int>(plain.size()));
}

void tls_peer::end() { SSL_shutdown(session_); }

std::string tls_client::server_name() const {
    X509* certificate = SSL_get0_peer_certificate(session_);
    REQUIRE(certificate != nullptr);
    char text[100] = "";
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, text, sizeof text);
    return text;
}

void tls_peer::drive() {
    ERR_clear_error();
    int done = handshaken ? 1 : SSL_do_handshake(session_);
    if (done == 1) {
        handshaken = true;
        char room[20000];
        while ((done = SSL_read(session_, room, sizeof room)) > 0) input.append(room, static_cast<std::size_t>(done));
    }
    int why = SSL_get_error(session_, done);
    if (why == SSL_ERROR_ZERO_RETURN) {
        ended = true;
    } else if (why != SSL_ERROR_WANT_READ && error.empty()) {
        error = tls::take_reason();
    }
    ERR_clear_error();
}

}  // namespace keel::test
