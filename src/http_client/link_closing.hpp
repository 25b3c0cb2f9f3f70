#pragma once

// Closing a link: calls end immediately, queued responses are sent within limits.final_write, then the session is deleted (LHTTP-23).

#include "http_client/transfer.hpp"

#include <keel/async.hpp>

#include <functional>
#include <string_view>

namespace keel::inline KEEL_ABI::http_client {

class exchange_table;
class http_session;
class link_context;

/// Waits for the last exchanges and sends the DELETE request that ends the session. Any response to it is accepted, also 405. Owned by
/// the http_link; used on its loop only.
class link_closing final : private transfer_user {
public:
    /// `release` ends everything that is left. It is called once, posted.
    link_closing(link_context& context, const http_session& session, const exchange_table& table,
                 std::function<void()> release) noexcept;
    link_closing(const link_closing&) = delete;
    link_closing& operator=(const link_closing&) = delete;
    ~link_closing() { stop(); }

    /// The peer has closed.
    void begin();
    /// An exchange is over.
    void exchange_ended();
    /// Set when everything was released. A task that waits for it may destroy the link.
    event& gone() noexcept { return gone_; }
    /// Waits for nothing any more.
    void stop() noexcept;

private:
    void on_response(const response_view&) override { finish(); }
    void on_body(std::string_view) override {}
    void on_end() override {}
    void on_failure(transfer_failure, std::string_view) override { finish(); }

    void delete_session();
    void finish();

    link_context& context_;
    const http_session& session_;
    const exchange_table& table_;
    const std::function<void()> release_;
    bool leaving_ = false;   // only the live exchanges are missing
    bool deleting_ = false;  // the DELETE request was sent
    loop::timer final_ = 0;
    event gone_;
};

}  // namespace keel::http_client
