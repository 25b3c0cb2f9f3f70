#pragma once

// The other side of a TLS connection, and test certificates.

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
    const tls::tls_files* issuer = nullptr;  // null: self-signed
    std::string not_before = {};             // empty: an hour ago; otherwise "20200101000000Z"
    std::string not_after = {};              // empty: tomorrow
    bool authority = true;
};

/// Creates a certificate and its key, NAME.crt and NAME.key.
tls::tls_files make_certificate(const scratch_folder&, const std::string& file, const certificate_options& = {});

/// The bytes that OpenSSL has allocated in this process.
std::size_t openssl_bytes();

struct client_options {
    int version = 0;             // TLS1_2_VERSION, …: only this version
    std::string protocols = {};  // ALPN in wire format: "\x02h2"
    std::string ciphers = {};    // for TLS 1.2 and below
};

/// One side implemented with OpenSSL directly, without a socket: cipher text goes in and out as strings.
class tls_peer {
public:
    tls_peer(const tls_peer&) = delete;
    tls_peer& operator=(const tls_peer&) = delete;

    /// Passes in the bytes that our side sent.
    void feed(std::string_view cipher);
    /// Returns the bytes to send to our side.
    std::string take_output();
    void send(std::string_view plain);
    /// Sends close_notify.
    void end();
    SSL* session() const noexcept { return session_; }

    std::string input;
    bool handshaken = false;
    bool ended = false;  // our side sent close_notify
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
    int version = 0;                              // only this version
    const tls::tls_files* certificate = nullptr;  // null: the common one
    std::string protocol = {};                    // the ALPN protocol it selects, whatever was offered; empty: none
    std::string groups = {};                      // for the key exchange
    std::string ciphers = {};                     // for TLS 1.2 and below
    int ask_for_certificate = SSL_VERIFY_NONE;
};

class tls_server : public tls_peer {
public:
    explicit tls_server(const tls_server_options& = {});
    /// The server name that the client sent (SNI).
    std::string name_asked_for() const;
    /// The protocols that the client offered, in wire format.
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

/// Our connection over a scripted transport, and the other side. Bytes move only when the test calls a function.
template <class Peer>
struct talk {
    template <class Options>
    explicit talk(const Options& options) : theirs(std::in_place, options) {}
    talk(const talk&) = delete;
    talk& operator=(const talk&) = delete;
    ~talk() {
        ours.reset();
        loop->end();  // also ends a flush that is still running
    }
    /// Carries bytes back and forth until both sides have nothing to send.
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
    /// Carries all bytes of our side to the other.
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

/// Our side is the server.
struct conversation : talk<tls_client> {
    explicit conversation(const client_options& options = {}, const tls::tls_context& context = common_context())
        : talk(options) {
        server = std::make_unique<tls::tls_connection>(*loop, wire->open(), context);
        server->start(heard);
    }
    std::unique_ptr<tls::tls_connection>& server = ours;
    std::optional<tls_client>& client = theirs;
};

/// Our side is the client.
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
