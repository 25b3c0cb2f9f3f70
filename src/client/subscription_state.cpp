#include "client/subscription_state.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace keel::client_side {

/// Two owners: the wait, and a turn of its loop that is to wake it.
struct subscription_state::waiting {
    loop* on = nullptr;          // outlives the activity, and so the wait; not touched once the wait has let go
    change_wait* who = nullptr;  // on that loop only; null: it has been woken, or has given up
};

class subscription_state::change_wait final : public detail::wait {
public:
    explicit change_wait(subscription_state& s) : state_(s), mine_(std::make_shared<waiting>()) {}
    ~change_wait() { let_go(); }  // a frame may be destroyed while it waits: its loop has ended

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) {
        if (!begin(h)) return false;
        std::lock_guard lock(state_.mutex_);
        second_ = state_.waiting_ != nullptr;
        if (second_ || state_.something_to_say()) {
            leave();
            return false;
        }
        mine_->on = &current().loop();
        mine_->who = this;
        state_.waiting_ = mine_;
        return true;
    }
    std::optional<change> await_resume() {
        check();  // before anything is taken, so that nothing is lost
        if (second_) throw std::logic_error("keel: only one task at a time may wait in subscription::next");
        return state_.take();
    }
    void go_on() { resume(); }

private:
    void interrupt() noexcept override {
        let_go();
        resume();
    }
    void let_go() noexcept {
        mine_->who = nullptr;
        std::lock_guard lock(state_.mutex_);
        if (state_.waiting_ == mine_) state_.waiting_ = nullptr;
    }

    subscription_state& state_;  // kept by the coroutine that this lies in
    std::shared_ptr<waiting> mine_;
    bool second_ = false;
};

task<std::optional<change>> subscription_state::next(std::shared_ptr<subscription_state> self) {
    change_wait something(*self);
    co_return co_await something;
}

// Under the lock: whoever waits cannot let go before the turn is posted, so its loop is still there. If the loop has ended, nobody
// will ever wait there again, and what has come stays for others.
void subscription_state::wake() {
    if (!waiting_) return;
    waiting_->on->post([w = waiting_] {
        if (change_wait* who = std::exchange(w->who, nullptr)) who->go_on();
    });
    waiting_ = nullptr;
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
    std::lock_guard lock(mutex_);
    if (end_ != subscription_end::none) return;
    if (c.what == change::kind::resource) {
        if (all_resources_ || uris_.contains(c.uri)) return;
        if (uris_.size() == max_uris || uri_bytes_ + c.uri.size() > max_bytes) {
            collapse();
        } else {
            uris_.insert(c.uri);
            uri_bytes_ += c.uri.size();
            changes_.push_back(std::move(c));
        }
    } else {
        c.uri.clear();
        if (std::ranges::any_of(changes_, [&](const change& each) { return each.what == c.what; })) return;
        changes_.push_back(std::move(c));
    }
    wake();
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
    std::function<void()> dropped;  // outside the lock: what it holds may be anything
    std::lock_guard lock(mutex_);
    if (end_ != subscription_end::none || how == subscription_end::none) return;
    end_ = how;
    why_ = std::move(why);
    dropped = std::exchange(on_stop_, nullptr);
    wake();
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
        wake();
    }
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
