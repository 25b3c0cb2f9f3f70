// Which certificates a client trusts, and its error messages for the others.

#include "tls_peers.hpp"

#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

using namespace keel;
using namespace keel::test;
using tls::tls_client_context;
using tls::tls_files;

namespace {

/// Sets an environment variable for its lifetime.
class setting {
public:
    setting(const char* name, const std::string& value) : name_(name) {
        if (const char* old = std::getenv(name)) before_ = old;
        ::setenv(name, value.c_str(), 1);
    }
    setting(const setting&) = delete;
    setting& operator=(const setting&) = delete;
    ~setting() {
        if (before_) {
            ::setenv(name_, before_->c_str(), 1);
        } else {
            ::unsetenv(name_);
        }
    }

private:
    const char* name_;
    std::optional<std::string> before_;
};

/// A certificate authority, and certificates signed by it.
struct authority {
    tls_files sign(certificate_options options) {
        options.issuer = &root;
        options.authority = false;
        return make_certificate(folder, "signed" + std::to_string(++count), options);
    }
    scratch_folder folder;
    tls_files root = make_certificate(folder, "root", {.name = "Test Root", .hosts = ""});
    tls_client_context trust{root.certificate_chain};
    int count = 0;
};

/// The file name by which OpenSSL finds a certificate in a folder of trusted certificates.
std::string name_in_folder(const tls_files& files) {
    BIO* from = BIO_new_file(files.certificate_chain.c_str(), "r");
    X509* certificate = PEM_read_bio_X509(from, nullptr, nullptr, nullptr);
    REQUIRE(certificate != nullptr);
    char name[20];
    std::snprintf(name, sizeof name, "%08lx.0", X509_subject_name_hash(certificate));
    X509_free(certificate);
    BIO_free(from);
    return name;
}

/// The error of a client that gets this certificate, and the alert that the server receives.
struct verdict {
    std::string failure;  // without its constant prefix
    std::string alert;
};

verdict meet(const tls_files& certificate, const tls_client_context& trust, std::string_view host, int version) {
    client_conversation c({.version = version, .certificate = &certificate}, trust, host);
    c.exchange();
    constexpr std::string_view beginning = "the TLS handshake failed: ";
    CHECK(c.heard.failures == (c.client->handshaken() ? 0 : 1));
    CHECK(c.heard.reads + c.heard.writables == 0);
    if (c.client->handshaken()) return {"trusted", c.server->error};
    CHECK(c.heard.failure.starts_with(beginning));
    CHECK_FALSE(c.client->write("a secret").failure.empty());
    CHECK(c.server->input.empty());
    c.wire->eof();
    c.client->close();
    c.loop->run();
    CHECK(c.wire->closed());
    CHECK(c.heard.failures == 1);
    CHECK_FALSE(c.heard.ended);
    return {c.heard.failure.substr(beginning.size()), c.server->error};
}

void check_refused(const tls_files& certificate, const tls_client_context& trust, std::string_view host,
                   std::string_view sentence, std::string_view alert) {
    for (int version : versions) {
        verdict v = meet(certificate, trust, host, version);
        CHECK(v.failure == sentence);
        CHECK(v.alert.find(alert) != std::string::npos);
        CAPTURE(v.alert);
    }
}

void check_trusted(const tls_files& certificate, const tls_client_context& trust, std::string_view host) {
    for (int version : versions) CHECK(meet(certificate, trust, host, version).failure == "trusted");
}

}  // namespace

TEST_CASE("a certificate signed by a CA in the file is trusted, for its names only") {
    authority ca;
    tls_files server = ca.sign({.hosts = "DNS:api.example,DNS:*.wild.example,IP:192.0.2.7,IP:2001:db8::7"});
    for (const char* host : {"api.example", "API.Example", "api.example.", "a.wild.example", "192.0.2.7", "2001:db8::7",
                             "[2001:db8::7]", "[2001:0db8:0:0::0007]"}) {
        CAPTURE(host);
        check_trusted(server, ca.trust, host);
    }
    const std::string names = "api.example, *.wild.example, 192.0.2.7, 2001:db8::7";
    for (const char* host : {"www.example", "api.example.evil", "wild.example", "a.b.wild.example", "192.0.2.8",
                             "192.0.2", "2001:db8::8", "xapi.example"}) {
        CAPTURE(host);
        std::string shown = std::string_view(host) == "2001:db8::8" ? "2001:DB8:0:0:0:0:0:8" : host;
        check_refused(server, ca.trust, host, "the certificate of " + shown + " was rejected: it is for " + names,
                      "alert bad certificate");
    }
}

TEST_CASE("an IP address as a DNS name does not match an address, and the common name is ignored") {
    authority ca;
    check_refused(ca.sign({.hosts = "DNS:127.0.0.1"}), ca.trust, "127.0.0.1",
                  "the certificate of 127.0.0.1 was rejected: it is for 127.0.0.1", "alert bad certificate");
    check_refused(ca.sign({.name = "api.example", .hosts = ""}), ca.trust, "api.example",
                  "the certificate of api.example was rejected: it names no host", "alert bad certificate");
    check_refused(ca.sign({.hosts = "DNS:a*.wild.example"}), ca.trust, "api.wild.example",
                  "the certificate of api.wild.example was rejected: it is for a*.wild.example",
                  "alert bad certificate");
}

TEST_CASE("a certificate with many, long or unprintable names gives one short line") {
    authority ca;
    check_refused(ca.sign({.hosts = "DNS:a.x,email:me@x,DNS:b.x,DNS:c.x,DNS:d.x,DNS:e.x,DNS:f.x"}), ca.trust, "g.x",
                  "the certificate of g.x was rejected: it is for a.x, b.x, c.x, d.x and 2 more", "bad certificate");
    check_refused(ca.sign({.hosts = "DNS:evil\n2026 all is well\x1b[31m"}), ca.trust, "g.x",
                  "the certificate of g.x was rejected: it is for evil?2026 all is well?[31m", "bad certificate");
    check_refused(ca.sign({.hosts = "DNS:" + std::string(3000, 'a')}), ca.trust, "g.x",
                  "the certificate of g.x was rejected: it is for " + std::string(100, 'a') + "...", "bad certificate");
}

TEST_CASE("an expired or not yet valid certificate is rejected; the error has the date") {
    authority ca;
    check_refused(ca.sign({.not_before = "20190101000000Z", .not_after = "20200229120000Z"}), ca.trust, "localhost",
                  "the certificate of localhost was rejected: it expired on 2020-02-29 12:00:00 UTC",
                  "alert certificate expired");
    check_refused(ca.sign({.not_before = "29990101000000Z", .not_after = "29991231000000Z"}), ca.trust, "localhost",
                  "the certificate of localhost was rejected: it is not valid before 2999-01-01 00:00:00 UTC",
                  "alert bad certificate");
    tls_files old = make_certificate(
        ca.folder, "old",
        {.name = "Old Root", .hosts = "", .not_before = "20190101000000Z", .not_after = "20200101000000Z"});
    tls_files fresh = make_certificate(ca.folder, "fresh", {.issuer = &old, .authority = false});
    check_refused(
        fresh, tls_client_context(old.certificate_chain), "localhost",
        "the certificate of localhost was rejected: the certificate of its issuer \"CN = Old Root\" expired on "
        "2020-01-01 00:00:00 UTC",
        "alert certificate expired");
}

TEST_CASE("a self-signed certificate or one from an unknown CA is rejected; the error names the issuer") {
    authority ca;
    check_refused(common_certificate(), ca.trust, "localhost",
                  "the certificate of localhost was rejected: it is self-signed and not trusted", "alert unknown ca");
    tls_files server = ca.sign({});
    check_refused(server, common_trust(), "localhost",
                  "the certificate of localhost was rejected: its issuer \"CN = Test Root\" is unknown",
                  "alert unknown ca");
    // The server also sends its root, which must not make it trusted.
    std::ofstream(server.certificate_chain, std::ios::app) << std::ifstream(ca.root.certificate_chain).rdbuf();
    check_refused(server, common_trust(), "localhost",
                  "the certificate of localhost was rejected: its root \"CN = Test Root\" is not trusted",
                  "alert unknown ca");
    check_trusted(server, ca.trust, "localhost");
    // The same name, another key.
    authority impostor;
    for (int version : versions) {
        verdict v = meet(impostor.sign({}), ca.trust, "localhost", version);
        CHECK(v.failure.starts_with("the certificate of localhost was rejected: "));
    }
}

TEST_CASE("a certificate without the CA flag cannot sign others") {
    authority ca;
    tls_files leaf = ca.sign({.name = "leaf"});
    tls_files below = make_certificate(ca.folder, "below", {.issuer = &leaf, .authority = false});
    std::ofstream(below.certificate_chain, std::ios::app) << std::ifstream(leaf.certificate_chain).rdbuf();
    for (int version : versions) {
        verdict v = meet(below, ca.trust, "localhost", version);
        CHECK(v.failure.starts_with("the certificate of localhost was rejected: "));
    }
}

TEST_CASE("a key that is too short is rejected, even if its certificate is signed by a trusted CA") {
    authority ca;
    check_refused(ca.sign({.kind = "RSA", .bits = 1024}), ca.trust, "localhost",
                  "the certificate of localhost was rejected: EE certificate key too weak", "alert");
}

TEST_CASE("the CA file may contain the server's own certificate, even one signed by a CA") {
    authority ca;
    check_trusted(common_certificate(), common_trust(), "localhost");
    tls_files server = ca.sign({});
    check_trusted(server, tls_client_context(server.certificate_chain), "localhost");
    tls_files other = ca.sign({});
    check_refused(other, tls_client_context(server.certificate_chain), "localhost",
                  "the certificate of localhost was rejected: its issuer \"CN = Test Root\" is unknown",
                  "alert unknown ca");
}

TEST_CASE("without a CA file the system's certificates are trusted; SSL_CERT_FILE and SSL_CERT_DIR override them") {
    authority ca;
    scratch_folder empty;
    tls_files server = ca.sign({});
    setting no_folder("SSL_CERT_DIR", empty.file("nothing"));
    {
        setting file("SSL_CERT_FILE", ca.root.certificate_chain);
        check_trusted(server, tls_client_context(), "localhost");
        // A CA file replaces the system's certificates.
        check_refused(server, tls_client_context(common_certificate().certificate_chain), "localhost",
                      "the certificate of localhost was rejected: its issuer \"CN = Test Root\" is unknown",
                      "alert unknown ca");
    }
    setting no_file("SSL_CERT_FILE", empty.file("nothing"));
    {
        std::string file = ca.folder.file(name_in_folder(ca.root));
        std::filesystem::copy_file(ca.root.certificate_chain, file);
        setting folder("SSL_CERT_DIR", std::filesystem::path(file).parent_path());
        check_trusted(server, tls_client_context(), "localhost");
    }
    check_refused(server, tls_client_context(), "localhost",
                  "the certificate of localhost was rejected: its issuer \"CN = Test Root\" is unknown",
                  "alert unknown ca");
}

TEST_CASE("a missing or empty CA file gives an error that names it, with the reason") {
    scratch_folder folder;
    CHECK_THROWS_WITH_AS(tls_client_context("/nowhere/ca.pem"),
                         "cannot read the CA file /nowhere/ca.pem: No such file or directory", std::system_error);
    std::string path = folder.file("ca.pem");
    for (const char* text :
         {"", "not a certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}) {
        std::ofstream(path) << text;
        try {
            tls_client_context made(path);
            FAIL("taken: " << text);
        } catch (const std::runtime_error& e) {
            std::string said = e.what();
            CAPTURE(said);
            CHECK(said.starts_with("the file " + path + " contains no usable CA certificate: "));
            CHECK_FALSE(said.ends_with("unknown error"));
        }
    }
    CHECK(tls::take_reason() == "unknown error");
}

TEST_CASE("an invalid host name is refused before anything is sent") {
    using namespace std::string_view_literals;
    for (std::string_view host :
         {""sv, "."sv, "[]"sv, ".example"sv, "a b"sv, "a\0b"sv, "localhost\0"sv, "\xc3\xa4.example"sv, "a\r\nb"sv,
          "*.example"sv, "localhost:443"sv, "[localhost"sv, "x%y"sv, "127.0.0.1\0"sv}) {
        CAPTURE(host);
        CHECK_THROWS_AS(common_trust().new_session(host), std::invalid_argument);
    }
    CHECK_THROWS_AS(common_trust().new_session(std::string(254, 'a')), std::invalid_argument);
    CHECK(common_trust().new_session("xn--4ca.example") != nullptr);
    CHECK(common_trust().new_session("fe80::1%eth0") != nullptr);
}

TEST_CASE("the client sends the host name (SNI), but not an IP address") {
    struct sample {
        const char* host;
        const char* told;
    };
    for (auto [host, told] : {sample{"localhost", "localhost"},
                              {"localhost.", "localhost"},
                              {"127.0.0.1", ""},
                              {"::1", ""},
                              {"[::1]", ""},
                              {"fe80::1%eth0", ""}}) {
        for (int version : versions) {
            client_conversation c({.version = version}, common_trust(), host);
            c.deliver();
            CHECK(c.server->name_asked_for() == told);
        }
    }
}

TEST_CASE("ALPN: the client offers http/1.1; the server may select it or nothing, and anything else fails") {
    for (int version : versions) {
        for (const char* answer : {"", "http/1.1"}) {
            client_conversation c({.version = version, .protocol = answer});
            c.shake_hands();
            CHECK(c.server->offered_protocols == "\x08http/1.1");
        }
        for (const char* answer : {"h2", "http/1.0", "http/1.1x"}) {
            CAPTURE(answer);
            client_conversation c({.version = version, .protocol = answer});
            c.exchange();
            CHECK(c.heard.failures == 1);
            CHECK(c.heard.failure == "the TLS handshake failed: bad extension");
            CHECK(c.server->error.find("alert") != std::string::npos);
            CHECK_FALSE(c.client->handshaken());
        }
        client_conversation c({.version = version, .protocol = "none"});
        c.exchange();
        CHECK(c.heard.failures == 1);
        CHECK(c.heard.failure.find("alert no application protocol") != std::string::npos);
    }
}

TEST_CASE("a server with only old versions or weak ciphers is refused") {
    for (int version : {TLS1_VERSION, TLS1_1_VERSION}) {
        client_conversation c({.version = version});
        c.exchange();
        CHECK(c.heard.failures == 1);
        CHECK_FALSE(c.client->handshaken());
    }
    authority ca;
    tls_files rsa = ca.sign({.kind = "RSA"});
    for (const char* cipher : {"AES128-GCM-SHA256", "ECDHE-RSA-AES128-SHA", "NULL-SHA256"}) {
        client_conversation c({.version = TLS1_2_VERSION, .certificate = &rsa, .ciphers = cipher}, ca.trust);
        c.exchange();
        CHECK(c.heard.failures == 1);
        CHECK_FALSE(c.client->handshaken());
    }
    check_trusted(rsa, ca.trust, "localhost");
}

TEST_CASE("a client sends no certificate of its own; the server decides whether it continues") {
    for (int version : versions) {
        client_conversation c({.version = version, .ask_for_certificate = SSL_VERIFY_PEER});
        c.shake_hands();
        CHECK(SSL_get0_peer_certificate(c.server->session()) == nullptr);
        CHECK(c.client->write("hello").bytes == 5);
        c.exchange();
        CHECK(c.server->input == "hello");
    }
    for (int version : versions) {
        client_conversation c(
            {.version = version, .ask_for_certificate = SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT});
        c.exchange();
        CHECK(c.heard.failures == 1);
        CHECK_FALSE(c.heard.ended);
        // In TLS 1.3 the client's handshake is done before the server checks the missing certificate.
        CHECK(c.client->handshaken() == (version == TLS1_3_VERSION));
        CHECK(c.heard.failure == (version == TLS1_3_VERSION
                                      ? "TLS failed: tlsv13 alert certificate required"
                                      : "the TLS handshake failed: sslv3 alert handshake failure"));
    }
}
