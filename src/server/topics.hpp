#pragma once

// Resource subscriptions across all sessions of a server.
//
// Any thread may publish a resource, a million times a second if it likes; subscribers live on several loops. Each loop has
// a board. publish() marks the resource on every board with a subscriber and wakes loops that are not awake yet; if it is
// marked already, nothing else happens. So publish() never blocks, and no queue grows, however slow the subscribers are.

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

/// Called on its loop.
class topic_listener {
public:
    virtual void on_updated(const std::string& uri) = 0;

protected:
    ~topic_listener() = default;
};

/// The subscribers of one loop; used on that loop only. Owned by its subscribers, to which it has weak references.
class topic_board final : public std::enable_shared_from_this<topic_board> {
public:
    topic_board(std::shared_ptr<topic_hub> hub, std::weak_ptr<loop> on, duration interval);
    topic_board(const topic_board&) = delete;
    topic_board& operator=(const topic_board&) = delete;
    ~topic_board();

    /// A new key for a subscriber.
    std::uint64_t next_key() noexcept { return ++last_key_; }
    void add(const std::string& uri, std::uint64_t key, std::weak_ptr<topic_listener> who);
    void remove(const std::string& uri, std::uint64_t key);

private:
    friend class topic_hub;
    struct topic_here {
        std::shared_ptr<topic_mark> mark;
        std::map<std::uint64_t, std::weak_ptr<topic_listener>> listeners;
    };

    /// Notifies the subscribers of the marked resources.
    void collect();
    void tell(const std::string& uri);
    void arm(loop& l);

    const std::shared_ptr<topic_hub> hub_;
    const std::weak_ptr<loop> loop_;
    const duration interval_;

    std::uint64_t last_key_ = 0;
    std::unordered_map<std::string, topic_here> here_;
    std::set<std::pair<time_point, topic_mark*>> resting_;  // sent recently; not to be sent again before that time
    loop::timer timer_ = 0;

    // Guarded by the hub's mutex.
    std::vector<std::shared_ptr<topic_mark>> inbox_;
    bool awake_ = false;  // a message to the loop is pending
};

class topics {
public:
    topics();
    topics(const topics&) = delete;
    topics& operator=(const topics&) = delete;
    ~topics();

    /// Safe to call from any thread. Never blocks.
    void publish(std::string_view uri);

    /// The board of a loop; must be called on that loop. `interval` is used if the board does not exist yet.
    std::shared_ptr<topic_board> board_of(const std::shared_ptr<loop>& on, duration interval);

    /// Number of resources with subscribers.
    std::size_t size() const;

private:
    std::shared_ptr<topic_hub> hub_;  // boards may outlive this object
};

}  // namespace keel::server_side
