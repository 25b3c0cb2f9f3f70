#pragma once

// The messages of which the server has received nothing.

#include "http_client/http_link_exchange.hpp"
#include "rpc/message_sink.hpp"

#include <cstddef>
#include <cstdint>

namespace keel::inline KEEL_ABI::http_client {

class exchange_table;
class link_context;

/// A list of unsent exchanges in the order in which they were queued, and the size of their messages. Exchanges that were sent meanwhile
/// are removed from its front on demand. Owned by the http_link; used on its loop only.
class unsent_exchanges final : public rpc::unsent_messages {
public:
    unsent_exchanges(const link_context& context, exchange_table& table, exchange_owner& owner) noexcept
        : context_(context), table_(table), owner_(owner) {}
    unsent_exchanges(const unsent_exchanges&) = delete;
    unsent_exchanges& operator=(const unsent_exchanges&) = delete;
    ~unsent_exchanges() = default;

    /// The number of the next message.
    std::uint64_t take_number() noexcept { return next_number_++; }
    /// Does nothing if the exchange is in the list.
    void add(link_exchange& x) noexcept;
    /// Does nothing if the exchange is not in the list.
    void remove(link_exchange& x) const noexcept;
    /// True if no byte of the message was sent.
    bool is_unsent(const link_exchange& x) const noexcept;
    std::size_t bytes() const noexcept;

    // rpc::unsent_messages
    std::size_t withdraw(rpc::serial owner) override;
    rpc::serial owner_of_response(const rpc::request_id& id) const noexcept override;
    std::uint64_t newest() const noexcept override { return next_number_ - 1; }
    std::uint64_t oldest_unsent() const noexcept override;

private:
    const link_context& context_;
    exchange_table& table_;
    exchange_owner& owner_;
    mutable link_exchange* first_ = nullptr;
    mutable link_exchange* last_ = nullptr;
    mutable std::size_t bytes_ = 0;
    std::uint64_t next_number_ = 1;
};

}  // namespace keel::http_client
