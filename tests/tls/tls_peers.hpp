#pragma once

// The other side of a TLS connection, and certificates made for the moment.

#include "support/descriptors.hpp"
#include "support/manual_loop.hpp"
#include "support/scripted_connection.hpp"
#include "tls/tls_client_context.hpp"
#include "tls/tls_connection.hpp"

#include <doctest/doctest.h>

#include <openssl/ssl.h>
#include <openssl/types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace keel::test {

struct certificate_options {
    std::string name = "localhost";
    std::string kind = "P-256";  // or "RSA"
    unsigned bits = 2048;        // of RSA
    std::string hosts = "DNS:localhost,IP:127.0.0.1";
    const tls::tls_files* issuer = nullptr;  // itself
    std::string not_before = {};             // an hour ago; "20200101000000Z"
    std::string not_after = {};              // tomorrow
    bool authority = true;
};

/// A certificate and its key, as NAME.crt and NAME.key.
tls::tls_files make_certificate(const scratch_folder&, const std::string& file, const certificate_options& = {});

/// Bytes that OpenSSL holds in this process.
std::size_t openssl_bytes();

struct client_options {
    int version = 0;             // TLS1_2_VERSION, …: this one only
    std::string protocols = {};  // ALPN, in the form of the wire: "\x02h2"
    std::string ciphers = {};    // for TLS 1.2 and below
};

/// OpenSSL's own idea of one side, without a wire: cipher text goes in and out as strings.
class tls_peer {
public:
    tls_peer(const tls_peer&) = delete;
    tls_peer& operator=(const tls_peer&) = delete;

    /// What our side sent.
    void feed(std::string_view cipher);
    /// What is to be sent to it.
    std::string take_output();
    void send(std::string_view plain);
    /// close_notify.
    void end();
    SSL* session() const noexcept { return session_; }

    std::string input;
    bool handshaken = false;
    bool ended = false;  // our side said close_notify
    std::string error;

protected:
    explicit tls_peer(SSL_CTX*);
    ~tls_peer();
    void begin();
    void drive();
    SSL_CTX* context_ = nullptr;
    SSL* session_ = nullptr;
};

class tls_client : public tls_peer {
public:
    explicit tls_client(const client_options& = {});
    /// The name in the server's certificate.
    std::string server_name() const;
};

struct tls_server_options {
    int version = 0;                              // this one only
    const tls::tls_files* certificate = nullptr;  // the common one
    std::string protocol = {};                    // what it answers to ALPN, whatever was offered; empty: nothing
    std::string groups = {};                      // for the exchange of keys
    std::string ciphers = {};                     // for TLS 1.2 and below
    int ask_for_certificate = SSL_VERIFY_NONE;
};

class tls_server : public tls_peer {
public:
    explicit tls_server(const tls_server_options& = {});
    /// What the client called it.
    std::string name_asked_for() const;
    /// What the client offered, in the form of the wire.
    std::string offered_protocols;
    std::string protocol;
};

inline const tls::tls_files& common_certificate() {
    static const scratch_folder folder;
    static const tls::tls_files made = make_certificate(folder, "common");
    return made;
}

inline const tls::tls_context& common_context() {
    static const tls::tls_context made(common_certificate());
    return made;
}

inline const tls::tls_client_context& common_trust() {
    static const tls::tls_client_context made(common_certificate().certificate_chain);
    return made;
}

inline constexpr int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

inline std::string numbers(std::size_t size) {
    std::string all;
    for (int i = 0; all.size() < size; ++i) all += std::to_string(i) + '\n';
    all.resize(size);
    return all;
}

/// A connection of ours whose wire is a script, and the other side. Nothing moves unless the test says so.
template <class Peer>
struct talk {
    template <class Options>
    explicit talk(const Options& options) : theirs(std::in_place, options) {}
    talk(const talk&) = delete;
    talk& operator=(const talk&) = delete;
    ~talk() {
        ours.reset();
        loop->end();  // and with it last words that were still on their way
    }
    /// Carries bytes back and forth until both are quiet.
    void exchange() {
        for (bool moved = true; moved;) {
            std::string out = theirs->take_output();
            moved = !out.empty();
            if (moved) wire->feed(std::move(out));
            loop->run();
            std::string back = wire->take_output();
            moved = moved || !back.empty();
            theirs->feed(back);
        }
    }
    void shake_hands() {
        exchange();
        REQUIRE(ours->handshaken());
        REQUIRE(theirs->handshaken);
    }
    /// Everything of ours that is under way; what the other side then has.
    void deliver() {
        loop->run();
        theirs->feed(wire->take_output());
    }

    std::shared_ptr<manual_loop> loop = std::make_shared<manual_loop>();
    std::shared_ptr<script> wire = std::make_shared<script>(loop);
    recorder heard;
    std::unique_ptr<tls::tls_connection> ours;
    std::optional<Peer> theirs;
};

/// We are the server.
struct conversation : talk<tls_client> {
    explicit conversation(const client_options& options = {}, const tls::tls_context& context = common_context())
        : talk(options) {
        server = std::make_unique<tls::tls_connection>(*loop, wire->open(), context);
        server->start(heard);
    }
    std::unique_ptr<tls::tls_connection>& server = ours;
    std::optional<tls_client>& client = theirs;
};

/// We are the client.
struct client_conversation : talk<tls_server> {
    explicit client_conversation(const tls_server_options& options = {},
                                 const tls::tls_client_context& context = common_trust(),
                                 std::string_view host = "localhost")
        : talk(options) {
        client = std::make_unique<tls::tls_connection>(*loop, wire->open(), context.new_session(host));
        client->start(heard);
    }
    std::unique_ptr<tls::tls_connection>& client = ours;
    std::optional<tls_server>& server = theirs;
};

}  // namespace keel::test
