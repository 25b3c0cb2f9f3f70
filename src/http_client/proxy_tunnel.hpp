#pragma once

// A tunnel through an HTTP proxy (CONNECT).

#include "http_client/response_reader.hpp"

#include <keel/connection.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http_client {

/// Sends CONNECT to the proxy. When `opened` was called without a failure, the tunnel is a connection to the server: start() it as
/// any other. May be closed or destroyed in any of its callbacks.
class proxy_tunnel final : public connection, private connection::listener {
public:
    /// Called once with the failure, or "" if the tunnel is open. Not from inside the constructor or open, and not after close.
    using opened = std::function<void(std::string failure)>;

    /// `raw` must not be started yet.
    proxy_tunnel(std::unique_ptr<connection> raw, std::string request, std::size_t max_head, opened done);
    ~proxy_tunnel() override { close(); }

    /// Sends the request. Returns an immediate failure, or "".
    std::string open();

    void start(connection::listener& l) override { user_ = &l; }
    written write(std::string_view bytes) override { return raw_->write(bytes); }
    void pause() noexcept override { raw_->pause(); }
    void resume() override { raw_->resume(); }
    void expect_more_input() noexcept override { raw_->expect_more_input(); }
    void end_output() noexcept override { raw_->end_output(); }
    void close() noexcept override;
    std::string describe() const override { return "through " + raw_->describe(); }

private:
    void on_input(std::string_view bytes) override;
    void on_input_end() override;
    void on_failure(std::string_view cause) override;
    void on_writable() override;
    std::string write_request();
    void tell(std::string failure);

    std::unique_ptr<connection> raw_;
    std::string request_;
    std::size_t written_ = 0;
    response_reader reader_;
    opened done_;  // empty after it was called
    connection::listener* user_ = nullptr;
};

}  // namespace keel::http_client
