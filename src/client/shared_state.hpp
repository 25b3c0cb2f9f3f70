#pragma once

// The few things about a client that threads of the user share with its loop.

#include <keel/client.hpp>

#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

namespace keel::inline KEEL_ABI::client_side {

/// Throws std::invalid_argument for a root that is not a file:// URI.
void check_roots(const std::vector<root>& roots);

/// Owned by detail::client_engine. Thread-safe: the user reads and writes it on any thread, the client on its loop.
class shared_state {
public:
    explicit shared_state(const client_options& options) : roots_(options.roots), level_(options.level) {}

    /// Whether requests can be sent on the current session.
    bool connected() const noexcept { return connected_.load(std::memory_order_acquire); }
    void set_connected(bool now) noexcept { connected_.store(now, std::memory_order_release); }

    /// What the server reported on the current or the last connection.
    server_facts facts() const;
    void set_facts(server_facts facts);

    std::vector<root> roots() const;
    bool offers_roots() const;
    /// Throws std::invalid_argument if they are invalid.
    void set_roots(std::vector<root> now);

    /// The log level that the user has requested.
    std::optional<log_level> wanted_level() const;
    void set_level(log_level from);

private:
    std::atomic<bool> connected_{false};
    mutable std::mutex mutex_;  // guards the members below; never held during a call
    server_facts facts_;
    std::optional<std::vector<root>> roots_;  // nullopt: the client does not declare the roots capability
    std::optional<log_level> level_;
};

}  // namespace keel::client_side
