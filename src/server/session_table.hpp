#pragma once

// The open sessions of a server, by key.

#include "server/server_session.hpp"

#include <keel/loop.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

namespace keel::inline KEEL_ABI::server_side {

struct session_entry {
    std::shared_ptr<server_session> session;
    std::shared_ptr<keel::loop> loop;
    bool own_streams = false;
    /// One bit per list_kind. At most one message to the loop is pending for all changes.
    std::shared_ptr<std::atomic<unsigned>> changes = std::make_shared<std::atomic<unsigned>>(0);
};

/// Owned by `served_set`, whose mutex guards it: not thread-safe by itself.
class session_table {
public:
    /// Keys are never reused.
    std::uint64_t new_key() noexcept { return next_key_++; }
    void add(std::uint64_t key, session_entry entry) {
        if (!entry.own_streams) ++connections_;
        sessions_.emplace(key, std::move(entry));
    }
    std::optional<session_entry> remove(std::uint64_t key) {
        auto at = sessions_.find(key);
        if (at == sessions_.end()) return std::nullopt;
        session_entry removed = std::move(at->second);
        sessions_.erase(at);
        if (!removed.own_streams) --connections_;
        return removed;
    }

    bool empty() const noexcept { return sessions_.empty(); }
    std::size_t size() const noexcept { return sessions_.size(); }
    /// The number of sessions with a connection of their own (not over HTTP).
    std::size_t connections() const noexcept { return connections_; }
    /// True if `f(entry)` is true for a session.
    template <class F>
    bool any(F f) const {
        return std::any_of(sessions_.begin(), sessions_.end(), [&](const auto& each) { return f(each.second); });
    }
    const std::map<std::uint64_t, session_entry>& all() const noexcept { return sessions_; }

private:
    std::map<std::uint64_t, session_entry> sessions_;
    std::uint64_t next_key_ = 1;
    std::size_t connections_ = 0;
};

}  // namespace keel::server_side
