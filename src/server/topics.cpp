#include "server/topics.hpp"

#include <algorithm>
#include <mutex>

namespace keel::inline KEEL_ABI::server_side {

/// The subscription of one board to one resource.
struct topic_mark {
    std::string uri;
    topic_board* board;  // valid as long as the hub has the mark

    // On the loop.
    bool gone = false;  // the last subscriber has left
    time_point rests_until{};

    enum class state : unsigned char { idle, due, resting, resting_and_due };
    state now = state::idle;  // guarded by the hub's mutex
};

/// Shared by publishers on any thread and the loops. No callback is called while its mutex is held, so it may be locked while
/// any other mutex is held.
class topic_hub {
public:
    void publish(std::string_view uri) {
        std::vector<sleeper> to_wake;  // usually empty, which costs nothing
        {
            std::lock_guard lock(mutex_);
            auto at = wanted_.find(uri);
            if (at == wanted_.end()) return;
            for (const auto& mark : at->second) {
                if (mark->now == topic_mark::state::resting) mark->now = topic_mark::state::resting_and_due;
                if (mark->now != topic_mark::state::idle) continue;
                mark->now = topic_mark::state::due;
                topic_board& board = *mark->board;
                board.inbox_.push_back(mark);
                if (std::exchange(board.awake_, true)) continue;
                to_wake.push_back({board.weak_from_this(), board.loop_});
            }
        }
        for (const sleeper& each : to_wake) {
            auto on = each.on.lock();
            bool awake = on && on->post([weak = each.board] {
                if (auto board = weak.lock()) board->collect();
            });
            if (!awake) forget(each.board);
        }
    }

    void add(std::shared_ptr<topic_mark> mark) {
        std::lock_guard lock(mutex_);
        wanted_[mark->uri].push_back(std::move(mark));
    }
    void remove(const topic_mark& mark) {
        std::lock_guard lock(mutex_);
        auto at = wanted_.find(mark.uri);
        if (at == wanted_.end()) return;
        std::erase_if(at->second, [&](const auto& each) { return each.get() == &mark; });
        if (at->second.empty()) wanted_.erase(at);
    }
    /// Removes a board whose loop has ended.
    void remove_all(const topic_board& board) {
        std::lock_guard lock(mutex_);
        for (auto at = wanted_.begin(); at != wanted_.end();) {
            std::erase_if(at->second, [&](const auto& each) { return each->board == &board; });
            at = at->second.empty() ? wanted_.erase(at) : std::next(at);
        }
    }
    void sweep_boards() {
        std::lock_guard lock(mutex_);
        std::erase_if(boards_, [](const auto& each) { return each.second.expired(); });
    }

    /// Returns the marks to send now and sets them to rest.
    std::vector<std::shared_ptr<topic_mark>> collect(topic_board& board, time_point now) {
        using state = topic_mark::state;
        std::vector<std::shared_ptr<topic_mark>> due;
        std::lock_guard lock(mutex_);
        board.awake_ = false;
        due.swap(board.inbox_);
        while (!board.resting_.empty() && board.resting_.begin()->first <= now) {
            topic_mark& rested = *board.resting_.begin()->second;
            board.resting_.erase(board.resting_.begin());
            if (rested.now == state::resting_and_due) due.push_back(board.here_.at(rested.uri).mark);
            else rested.now = state::idle;
        }
        for (const auto& mark : due) mark->now = board.interval_ > duration::zero() ? state::resting : state::idle;
        return due;
    }

    std::shared_ptr<topic_board> board_of(const std::shared_ptr<topic_hub>& self, const std::shared_ptr<loop>& on,
                                          duration interval) {
        std::shared_ptr<topic_board> before;  // destroyed after the mutex is unlocked
        std::lock_guard lock(mutex_);
        std::weak_ptr<topic_board>& known = boards_[on.get()];
        before = known.lock();
        // A former loop may have had the same address.
        if (before && !before->loop_.owner_before(on) && !on.owner_before(before->loop_)) return before;
        auto made = std::make_shared<topic_board>(self, on, interval);
        known = made;
        return made;
    }

    std::size_t size() const {
        std::lock_guard lock(mutex_);
        return wanted_.size();
    }

private:
    struct sleeper {
        std::weak_ptr<topic_board> board;
        std::weak_ptr<loop> on;
    };
    struct text_hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
    };

    void forget(const std::weak_ptr<topic_board>& weak) {
        auto board = weak.lock();  // destroyed after the mutex is unlocked
        if (board) remove_all(*board);
    }

    mutable std::mutex mutex_;
    std::unordered_map<std::string, std::vector<std::shared_ptr<topic_mark>>, text_hash, std::equal_to<>> wanted_;
    std::unordered_map<const loop*, std::weak_ptr<topic_board>> boards_;
};

// ---- one loop ----

topic_board::topic_board(std::shared_ptr<topic_hub> hub, std::weak_ptr<loop> on, duration interval)
    : hub_(std::move(hub)), loop_(std::move(on)), interval_(interval) {}

// On any thread: after the end of a loop, its sessions are destroyed where they are released.
topic_board::~topic_board() {
    if (!here_.empty()) hub_->remove_all(*this);
    hub_->sweep_boards();
}

void topic_board::add(const std::string& uri, std::uint64_t key, std::weak_ptr<topic_listener> who) {
    auto [at, fresh] = here_.try_emplace(uri);
    at->second.listeners.insert_or_assign(key, std::move(who));
    if (!fresh) return;
    at->second.mark = std::make_shared<topic_mark>();
    at->second.mark->uri = uri;
    at->second.mark->board = this;
    hub_->add(at->second.mark);
}

void topic_board::remove(const std::string& uri, std::uint64_t key) {
    auto at = here_.find(uri);
    if (at == here_.end()) return;
    at->second.listeners.erase(key);
    if (!at->second.listeners.empty()) return;
    topic_mark& mark = *at->second.mark;
    mark.gone = true;
    resting_.erase({mark.rests_until, &mark});
    hub_->remove(mark);
    here_.erase(at);
    if (!resting_.empty() || timer_ == 0) return;
    if (auto on = loop_.lock()) on->stop_timer(std::exchange(timer_, 0));
}

void topic_board::collect() {
    auto on = loop_.lock();
    if (!on) return;
    time_point now = on->now();
    std::vector<std::shared_ptr<topic_mark>> due = hub_->collect(*this, now);
    if (interval_ > duration::zero()) {
        for (const auto& mark : due) {
            if (mark->gone) continue;
            mark->rests_until = after(now, interval_);
            resting_.emplace(mark->rests_until, mark.get());
        }
    }
    arm(*on);
    for (const auto& mark : due) {
        if (!mark->gone) tell(mark->uri);
    }
}

void topic_board::tell(const std::string& uri) {
    // A copy: a listener may detect a closed connection and remove itself.
    std::vector<std::weak_ptr<topic_listener>> to_tell;
    const auto& listeners = here_.at(uri).listeners;
    to_tell.reserve(listeners.size());
    for (const auto& [key, who] : listeners) to_tell.push_back(who);
    for (const auto& weak : to_tell) {
        if (auto who = weak.lock()) who->on_updated(uri);
    }
}

// The timer may fire too early if its mark was removed; it then finds nothing to do and is set again.
void topic_board::arm(loop& l) {
    if (timer_ != 0 || resting_.empty() || resting_.begin()->first == time_point::max()) return;
    timer_ = l.start_timer(resting_.begin()->first, [weak = weak_from_this()] {
        if (auto self = weak.lock()) {
            self->timer_ = 0;
            self->collect();
        }
    });
}

// ---- topics ----

topics::topics() : hub_(std::make_shared<topic_hub>()) {}
topics::~topics() = default;

void topics::publish(std::string_view uri) { hub_->publish(uri); }

std::shared_ptr<topic_board> topics::board_of(const std::shared_ptr<loop>& on, duration interval) {
    return hub_->board_of(hub_, on, interval);
}

std::size_t topics::size() const { return hub_->size(); }

}  // namespace keel::server_side
