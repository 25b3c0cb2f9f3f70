#pragma once

// The other side of a TLS connection, and certificates made for the moment.

#include "support/descriptors.hpp"
#include "support/manual_loop.hpp"
#include "support/scripted_connection.hpp"
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
};

/// A self-signed certificate for localhost and 127.0.0.1 and its key, as NAME.crt and NAME.key.
tls::tls_files make_certificate(const scratch_folder&, const std::string& file, const certificate_options& = {});

/// Bytes that OpenSSL holds in this process.
std::size_t openssl_bytes();

struct client_options {
    int version = 0;             // TLS1_2_VERSION, …: this one only
    std::string protocols = {};  // ALPN, in the form of the wire: "\x02h2"
    std::string ciphers = {};    // for TLS 1.2 and below
};

/// OpenSSL's own client, without a wire: cipher text goes in and out as strings.
class tls_client {
public:
    explicit tls_client(const client_options& = {});
    ~tls_client();

    /// What the server sent.
    void feed(std::string_view cipher);
    /// What is to be sent to it.
    std::string take_output();
    void send(std::string_view plain);
    /// close_notify.
    void end();
    SSL* session() const noexcept { return session_; }
    /// The name in the server's certificate.
    std::string server_name() const;

    std::string input;
    bool handshaken = false;
    bool ended = false;  // the server said close_notify
    std::string error;

private:
    void drive();
    SSL_CTX* context_ = nullptr;
    SSL* session_ = nullptr;
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

/// A server's connection whose wire is a script, and a client. Nothing moves unless the test says so.
struct conversation {
    explicit conversation(const client_options& options = {}, const tls::tls_context& context = common_context())
        : client(std::in_place, options) {
        server = std::make_unique<tls::tls_connection>(*loop, wire->open(), context);
        server->start(heard);
    }
    conversation(const conversation&) = delete;
    conversation& operator=(const conversation&) = delete;
    ~conversation() {
        server.reset();
        loop->end();  // and with it last words that were still on their way
    }
    /// Carries bytes back and forth until both are quiet.
    void exchange() {
        for (bool moved = true; moved;) {
            std::string out = client->take_output();
            moved = !out.empty();
            if (moved) wire->feed(std::move(out));
            loop->run();
            std::string back = wire->take_output();
            moved = moved || !back.empty();
            client->feed(back);
        }
    }
    void shake_hands() {
        exchange();
        REQUIRE(server->handshaken());
        REQUIRE(client->handshaken);
    }
    /// Everything of the server's that is under way; what the client then has.
    void deliver() {
        loop->run();
        client->feed(wire->take_output());
    }

    std::shared_ptr<manual_loop> loop = std::make_shared<manual_loop>();
    std::shared_ptr<script> wire = std::make_shared<script>(loop);
    recorder heard;
    std::unique_ptr<tls::tls_connection> server;
    std::optional<tls_client> client;
};

}  // namespace keel::test
