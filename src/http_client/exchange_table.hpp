#pragma once

// The exchanges of a link.

#include "http_client/http_link_exchange.hpp"
#include "rpc/recycling_map.hpp"

#include <cstddef>
#include <list>

namespace keel::inline KEEL_ABI::http_client {

class link_context;
class message_inbox;

/// Owns all exchanges, reuses their memory, and finds the exchange of a call. Owned by the http_link; used on its loop only.
class exchange_table {
public:
    /// The references are passed to the exchanges, and must outlive the table.
    exchange_table(link_context& context, message_inbox& inbox, exchange_owner& owner) noexcept
        : context_(context), inbox_(inbox), owner_(owner) {}
    exchange_table(const exchange_table&) = delete;
    exchange_table& operator=(const exchange_table&) = delete;
    ~exchange_table();

    /// An exchange for another message.
    link_exchange& take();
    /// The exchanges that are not over, oldest first. Ending one invalidates its iterator.
    std::list<link_exchange>& live() noexcept { return live_; }
    /// True if no exchange is live.
    bool empty() const noexcept { return live_.empty(); }
    /// Exchanges whose response is not complete.
    std::size_t size() const noexcept { return live_.size() + dying_.size(); }

    /// The exchange of a call without an outcome, or null.
    link_exchange* find(rpc::serial call) noexcept;
    void add_call(link_exchange& x) { calls_.add(x.message.owner, &x); }
    /// The call has its outcome, or nobody waits for it.
    void remove_call(const link_exchange& x) noexcept;

    /// Ends a live exchange: its transfer is canceled. The memory is kept until recycle().
    void end(link_exchange& x);
    void recycle(link_exchange& x) noexcept;

private:
    struct serial_hash {
        std::size_t operator()(rpc::serial n) const noexcept { return static_cast<std::size_t>(n); }
    };

    link_context& context_;
    message_inbox& inbox_;
    exchange_owner& owner_;
    std::list<link_exchange> live_;
    std::list<link_exchange> dying_;  // over, but still on the stack
    std::list<link_exchange> spare_;
    rpc::recycling_map<rpc::serial, link_exchange*, serial_hash> calls_;
};

}  // namespace keel::http_client
