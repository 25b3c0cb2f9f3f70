#pragma once

// Servers on loopback sockets that answer each request as the test specifies.

#include "support/descriptors.hpp"
#include "tls/tls_context.hpp"

#include <keel/connection.hpp>
#include <keel/loop.hpp>
#include <keel/transport.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace keel::test {

/// A self-signed certificate for a host ("DNS:localhost", "IP:127.0.0.1") and its key.
tls::tls_files make_server_certificate(const scratch_folder&, const std::string& host);

class local_server {
public:
    class visit;
    /// Called with all unprocessed input of a connection, whenever there is more.
    using answer = std::function<void(visit&)>;

    /// One client's connection.
    class visit final : public connection::listener {
    public:
        visit(local_server& owner, std::unique_ptr<connection> wire);
        void say(std::string_view bytes);
        void close() { wire_->close(); }

        std::string input;
        std::size_t number = 0;  // of the connection
        bool ended = false;
        bool broken = false;

    private:
        friend class local_server;
        void on_input(std::string_view bytes) override;
        void on_input_end() override { ended = true; }
        void on_failure(std::string_view) override {
            broken = true;
            wire_->close();
        }
        void on_writable() override;

        local_server& owner_;
        std::string out_;
        std::unique_ptr<connection> wire_;
    };

    local_server(loop&, answer how, const tls::tls_files* secure = nullptr);
    std::string port() const { return std::to_string(listener_->port()); }

    std::vector<std::unique_ptr<visit>> visits;

private:
    loop& loop_;
    answer answer_;
    std::unique_ptr<tls::tls_context> tls_;
    std::unique_ptr<listener> listener_;
};

/// An HTTP proxy that supports CONNECT and forwards everything to one local port.
class local_proxy {
public:
    local_proxy(loop&, std::uint16_t leads_to);
    ~local_proxy();
    std::uint16_t port() const { return listener_->port(); }

    std::vector<std::string> asked;  // the first line of each request

private:
    struct pipe;
    loop& loop_;
    std::uint16_t leads_to_;
    std::vector<std::unique_ptr<pipe>> pipes_;
    std::unique_ptr<listener> listener_;
};

}  // namespace keel::test
