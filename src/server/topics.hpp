#pragma once

// Who wants to hear of which resource, across all sessions of a server.
//
// A resource is published from any thread, perhaps a million times a second; its subscribers live on several loops. Each
// loop has a board. Publishing marks the resource on every board where somebody wants it and wakes the loops that are
// not awake yet; if it is marked already, nothing else happens. So a publisher neither waits nor leaves anything behind
// that grows, whatever its subscribers do.

#include <keel/loop.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::server_side {

class topic_hub;
struct topic_mark;

/// Hears of changes on its loop.
class topic_listener {
public:
    virtual void on_updated(const std::string& uri) = 0;

protected:
    ~topic_listener() = default;
};

/// The subscribers on one loop. Everything on that loop. Kept by its subscribers; it knows them weakly.
class topic_board final : public std::enable_shared_from_this<topic_board> {
public:
    topic_board(std::shared_ptr<topic_hub> hub, std::weak_ptr<loop> on, duration interval);
    topic_board(const topic_board&) = delete;
    topic_board& operator=(const topic_board&) = delete;
    ~topic_board();

    /// A number by which a subscriber is known here.
    std::uint64_t next_key() noexcept { return ++last_key_; }
    void add(const std::string& uri, std::uint64_t key, std::weak_ptr<topic_listener> who);
    void remove(const std::string& uri, std::uint64_t key);

private:
    friend class topic_hub;
    struct topic_here {
        std::shared_ptr<topic_mark> mark;
        std::map<std::uint64_t, std::weak_ptr<topic_listener>> listeners;
    };

    /// Tells of what was marked.
    void collect();
    void tell(const std::string& uri);
    void arm(loop& l);

    const std::shared_ptr<topic_hub> hub_;
    const std::weak_ptr<loop> loop_;
    const duration interval_;

    std::uint64_t last_key_ = 0;
    std::unordered_map<std::string, topic_here> here_;
    std::set<std::pair<time_point, topic_mark*>> resting_;  // told lately, not to be told again before that moment
    loop::timer timer_ = 0;

    // Guarded by the hub's mutex.
    std::vector<std::shared_ptr<topic_mark>> inbox_;
    bool awake_ = false;  // a message to the loop is under way
};

class topics {
public:
    topics();
    topics(const topics&) = delete;
    topics& operator=(const topics&) = delete;
    ~topics();

    /// From any thread. Never waits.
    void publish(std::string_view uri);

    /// The board of a loop, on that loop. `interval` counts for the first who asks.
    std::shared_ptr<topic_board> board_of(const std::shared_ptr<loop>& on, duration interval);

    /// How many resources somebody wants to hear of.
    std::size_t size() const;

private:
    std::shared_ptr<topic_hub> hub_;  // boards may outlive us
};

}  // namespace keel::server_side
