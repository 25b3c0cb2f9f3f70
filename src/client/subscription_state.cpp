#include "client/subscription_state.hpp"

#include "async/loop_handle.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace keel::inline KEEL_ABI::client_side {

/// Owned by the wait, by the posted work that wakes it, and by the loop, which may end before there is a change.
struct subscription_state::waiting {
    async::loop_handle on;
    change_wait* who = nullptr;  // on that loop only; null: woken or cancelled
    loop::timer until_end = 0;   // on that loop only
};

class subscription_state::change_wait final : public detail::wait {
public:
    explicit change_wait(subscription_state& s) : state_(s), mine_(std::make_shared<waiting>()) {}
    ~change_wait() {  // a coroutine may be destroyed while it waits: its loop has ended
        mine_->until_end = 0;
        let_go();
    }
    change_wait(const change_wait&) = delete;
    change_wait& operator=(const change_wait&) = delete;

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) {
        if (!begin(h)) return false;
        try {
            if (wait_for_change()) return true;
        } catch (...) {  // no memory: thrown by co_await
            let_go();
            leave();
            throw;
        }
        leave();
        return false;
    }
    std::optional<change> await_resume() {
        let_go();
        check();  // before a change is taken, so that none is lost
        if (loop_ended_) throw cancelled();
        if (second_) throw std::logic_error("keel: only one task at a time may wait in subscription::next");
        return state_.take();
    }
    void go_on() { resume(); }

private:
    // The loop destroys this when it ends, which wakes the waiting task: nothing else would.
    struct watch {
        explicit watch(std::shared_ptr<waiting> w) noexcept : of(std::move(w)) {}
        watch(const watch&) = delete;
        watch& operator=(const watch&) = delete;
        ~watch() {
            if (of->who) of->who->end_with_loop();
        }
        std::shared_ptr<waiting> of;
    };

    bool wait_for_change() {
        loop& here = current().loop();
        mine_->on = async::loop_handle(here);
        std::lock_guard lock(state_.mutex_);
        second_ = state_.waiting_ != nullptr;
        if (second_ || state_.something_to_say()) return false;
        mine_->until_end = async::keep_until_end(here, std::make_shared<watch>(mine_));
        loop_ended_ = mine_->until_end == 0;
        if (loop_ended_) return false;
        mine_->who = this;
        state_.waiting_ = mine_;
        return true;
    }
    void end_with_loop() {
        loop_ended_ = true;
        mine_->until_end = 0;  // being dropped
        let_go();
        resume();
    }
    void interrupt() noexcept override {
        let_go();
        resume();
    }
    void let_go() noexcept {
        mine_->who = nullptr;
        if (loop::timer t = std::exchange(mine_->until_end, 0)) current().loop().stop_timer(t);
        std::lock_guard lock(state_.mutex_);
        if (state_.waiting_ == mine_) state_.waiting_ = nullptr;
    }

    subscription_state& state_;  // kept alive by the coroutine that contains this
    std::shared_ptr<waiting> mine_;
    bool second_ = false;
    bool loop_ended_ = false;
};

task<std::optional<change>> subscription_state::next(std::shared_ptr<subscription_state> self) {
    change_wait something(*self);
    co_return co_await something;
}

// Called without the lock: a loop that has ended destroys the posted function immediately, which may run other code. The change stays
// queued for the next call of next().
void subscription_state::wake(const std::shared_ptr<waiting>& whom) {
    if (!whom) return;
    whom->on.post([whom] {
        if (change_wait* who = std::exchange(whom->who, nullptr)) who->go_on();
    });
}

std::optional<change> subscription_state::take() {
    std::lock_guard lock(mutex_);
    if (changes_.empty()) return std::nullopt;
    change first = std::move(changes_.front());
    changes_.pop_front();
    if (first.what == change::kind::resource) {
        uris_.erase(first.uri);
        uri_bytes_ -= first.uri.size();
    } else if (first.what == change::kind::resources) {
        all_resources_ = false;
    }
    return first;
}

void subscription_state::push(change c) {
    std::shared_ptr<waiting> whom;
    {
        std::lock_guard lock(mutex_);
        if (!keep(std::move(c))) return;
        whom = std::exchange(waiting_, nullptr);
    }
    wake(whom);
}

bool subscription_state::keep(change c) {
    if (end_ != subscription_end::none) return false;
    if (c.what == change::kind::resource) {
        if (all_resources_ || uris_.contains(c.uri)) return false;
        if (uris_.size() == max_uris || uri_bytes_ + c.uri.size() > max_bytes) {
            collapse();
        } else {
            uris_.insert(c.uri);
            uri_bytes_ += c.uri.size();
            changes_.push_back(std::move(c));
        }
    } else {
        c.uri.clear();
        if (std::ranges::any_of(changes_, [&](const change& each) { return each.what == c.what; })) return false;
        changes_.push_back(std::move(c));
    }
    return true;
}

void subscription_state::collapse() {
    std::erase_if(changes_, [](const change& c) { return c.what == change::kind::resource; });
    uris_.clear();
    uri_bytes_ = 0;
    all_resources_ = true;
    auto is_list = [](const change& c) { return c.what == change::kind::resources; };
    if (std::ranges::none_of(changes_, is_list)) changes_.push_back({.what = change::kind::resources});
}

void subscription_state::finish(subscription_end how, std::string why) {
    std::function<void()> dropped;  // destroyed outside the lock: it may run other code
    std::shared_ptr<waiting> whom;
    {
        std::lock_guard lock(mutex_);
        if (end_ != subscription_end::none || how == subscription_end::none) return;
        end_ = how;
        why_ = std::move(why);
        dropped = std::exchange(on_stop_, nullptr);
        whom = std::exchange(waiting_, nullptr);
    }
    wake(whom);
}

void subscription_state::set_on_stop(std::function<void()> tell) {
    {
        std::lock_guard lock(mutex_);
        if (end_ == subscription_end::none) {
            on_stop_.swap(tell);
            return;
        }
        if (!stopped_) return;
    }
    tell();
}

void subscription_state::stop() {
    std::function<void()> tell;
    std::shared_ptr<waiting> whom;
    {
        std::lock_guard lock(mutex_);
        changes_.clear();
        uris_.clear();
        uri_bytes_ = 0;
        all_resources_ = false;
        if (end_ != subscription_end::none) return;
        end_ = subscription_end::ended;
        stopped_ = true;
        tell = std::exchange(on_stop_, nullptr);
        whom = std::exchange(waiting_, nullptr);
    }
    wake(whom);
    if (tell) tell();
}

void subscription_state::set_agreed(subscription_request what) {
    std::lock_guard lock(mutex_);
    agreed_ = std::move(what);
}

subscription_request subscription_state::agreed() const {
    std::lock_guard lock(mutex_);
    return agreed_;
}

subscription_end subscription_state::how_ended() const {
    std::lock_guard lock(mutex_);
    return end_;
}

std::string subscription_state::why() const {
    std::lock_guard lock(mutex_);
    return why_;
}

}  // namespace keel::client_side
