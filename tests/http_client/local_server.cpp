#include "http_client/local_server.hpp"

#include "tls/tls_connection.hpp"

#include <doctest/doctest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <utility>

namespace keel::test {

tls::tls_files make_server_certificate(const scratch_folder& folder, const std::string& host) {
    std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
    std::unique_ptr<X509, decltype(&X509_free)> made(X509_new(), &X509_free);
    REQUIRE(key);
    REQUIRE(made);
    X509_set_version(made.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), 24 * 3600);
    X509_set_pubkey(made.get(), key.get());
    X509_NAME* name = X509_get_subject_name(made.get());
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
    X509_set_issuer_name(made.get(), name);
    X509_EXTENSION* hosts = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, host.c_str());
    REQUIRE(hosts != nullptr);
    X509_add_ext(made.get(), hosts, -1);
    X509_EXTENSION_free(hosts);
    REQUIRE(X509_sign(made.get(), key.get(), EVP_sha256()) > 0);
    tls::tls_files files{folder.file("server.crt"), folder.file("server.key")};
    FILE* out = std::fopen(files.certificate_chain.c_str(), "w");
    REQUIRE(out != nullptr);
    CHECK(PEM_write_X509(out, made.get()) == 1);
    std::fclose(out);
    out = std::fopen(files.private_key.c_str(), "w");
    REQUIRE(out != nullptr);
    CHECK(PEM_write_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
    std::fclose(out);
    return files;
}

local_server::local_server(loop& l, answer how, const tls::tls_files* secure) : loop_(l), answer_(std::move(how)) {
    if (secure) tls_ = std::make_unique<tls::tls_context>(*secure);
    listener_ = listen_tcp(loop_, {"127.0.0.1", 0}, [this](std::unique_ptr<connection> wire) {
        if (tls_) wire = std::make_unique<tls::tls_connection>(loop_, std::move(wire), *tls_);
        visits.push_back(std::make_unique<visit>(*this, std::move(wire)));
        visits.back()->number = visits.size() - 1;
        visits.back()->wire_->start(*visits.back());
    });
}

local_server::visit::visit(local_server& owner, std::unique_ptr<connection> wire)
    : owner_(owner), wire_(std::move(wire)) {}

void local_server::visit::on_input(std::string_view bytes) {
    input += bytes;
    owner_.answer_(*this);
}

void local_server::visit::say(std::string_view bytes) {
    out_ += bytes;
    on_writable();
}

void local_server::visit::on_writable() {
    if (out_.empty()) return;
    out_.erase(0, wire_->write(out_).bytes);
}

/// Both directions of one tunnel.
struct local_proxy::pipe {
    struct end final : connection::listener {
        explicit end(pipe& p) : whole(p) {}
        void on_input(std::string_view bytes) override { whole.take(*this, bytes); }
        void on_input_end() override { whole.close(); }
        void on_failure(std::string_view) override { whole.close(); }
        void on_writable() override { send({}); }
        void send(std::string_view bytes) {
            out += bytes;
            if (wire && !out.empty()) out.erase(0, wire->write(out).bytes);
        }
        pipe& whole;
        std::unique_ptr<connection> wire;
        std::string out;
    };
    explicit pipe(local_proxy& p) : proxy(p) {}
    ~pipe() { close(); }

    void take(end& from, std::string_view bytes) {
        if (&from == &server) return client.send(bytes);
        if (opening || server.wire) return server.send(bytes);
        request += bytes;
        if (!request.ends_with("\r\n\r\n")) return;
        proxy.asked.push_back(request.substr(0, request.find('\r')));
        opening = true;
        detail::start(dialing, connect_tcp(proxy.loop_, {"127.0.0.1", proxy.leads_to_}),
                      [this](detail::outcome<std::unique_ptr<connection>> result) {
                          REQUIRE(result.index() == 1);
                          server.wire = std::move(std::get<1>(result));
                          server.wire->start(server);
                          client.send("HTTP/1.1 200 Connection established\r\n\r\n");
                      });
    }
    void close() {
        if (client.wire) client.wire->close();
        if (server.wire) server.wire->close();
    }

    local_proxy& proxy;
    detail::activity dialing{proxy.loop_};
    end client{*this};
    end server{*this};
    std::string request;
    bool opening = false;
};

local_proxy::local_proxy(loop& l, std::uint16_t leads_to) : loop_(l), leads_to_(leads_to) {
    listener_ = listen_tcp(loop_, {"127.0.0.1", 0}, [this](std::unique_ptr<connection> wire) {
        pipes_.push_back(std::make_unique<pipe>(*this));
        pipes_.back()->client.wire = std::move(wire);
        pipes_.back()->client.wire->start(pipes_.back()->client);
    });
}

local_proxy::~local_proxy() = default;

}  // namespace keel::test
