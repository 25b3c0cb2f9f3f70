#pragma once

// Ends exchanges whose HTTP response does not end.

#include <keel/loop.hpp>

namespace keel::inline KEEL_ABI::http_client {

class exchange_owner;
class exchange_table;
class link_context;

/// Drops exchanges whose stream the server does not end after the response, and notifications it does not answer. Owned by the
/// http_link; used on its loop only.
class exchange_sweep {
public:
    exchange_sweep(link_context& context, exchange_table& table, exchange_owner& owner) noexcept
        : context_(context), table_(table), owner_(owner) {}
    exchange_sweep(const exchange_sweep&) = delete;
    exchange_sweep& operator=(const exchange_sweep&) = delete;
    ~exchange_sweep() { stop(); }

    /// Checks the exchanges within a second, and as long as some wait for the end of their response.
    void arm();
    void stop() noexcept;

private:
    void run();

    link_context& context_;
    exchange_table& table_;
    exchange_owner& owner_;
    loop::timer timer_ = 0;
};

}  // namespace keel::http_client
