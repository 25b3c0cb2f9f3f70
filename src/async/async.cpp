#include <keel/async.hpp>

namespace keel::inline KEEL_ABI {

void sleep_for::arm() {
    timer_ = start_timer_after(current().loop(), duration_, [this] { resume(); });
}

void sleep_for::interrupt() noexcept {
    current().loop().stop_timer(timer_);
    resume();
}

void yield::arm() {
    current().loop().post([this] { resume(); });
}
// The posted turn resumes the coroutine in any case.
void yield::interrupt() noexcept {}

void event::add(waiter& w) noexcept {
    w.previous_ = last_;
    (last_ ? last_->next_ : first_) = &w;
    last_ = &w;
}

void event::remove(waiter& w) noexcept {
    (w.previous_ ? w.previous_->next_ : first_) = w.next_;
    (w.next_ ? w.next_->previous_ : last_) = w.previous_;
}

void event::set() {
    if (std::exchange(set_, true)) return;
    bool gone = false;
    destroyed_ = &gone;
    // One at a time from the front: a resumed coroutine may cancel another waiter or destroy the event.
    while (waiter* w = first_) {
        remove(*w);
        w->resume();
        if (gone) return;
    }
    destroyed_ = nullptr;
}

void event::waiter::interrupt() noexcept {
    event_->remove(*this);
    resume();
}

struct scope::child {
    explicit child(detail::activity& parent) : line(parent.loop(), &parent) {}
    detail::activity line;
    bool ended = false;
};

// Waits until no child is running. It resumes through the loop, so that a child does not end its parent while activity::stop
// is still on the stack.
class scope::joiner final : public detail::wait {
public:
    explicit joiner(scope& s) noexcept : wait(detail::waits_for::children), scope_(s) {}
    ~joiner() = default;

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
        if (!begin(h)) return false;
        scope_.joiner_ = this;
        return true;
    }
    void await_resume() const { check(); }
    void wake() {
        woken_ = true;
        settle();
        scope_.parent_.loop().post([this] { resume(); });
    }

private:
    void interrupt() noexcept override {
        if (woken_) return;
        scope_.joiner_ = nullptr;
        resume();
    }
    scope& scope_;
    bool woken_ = false;
};

scope::scope(detail::activity& parent) noexcept : parent_(parent) {}
scope::~scope() = default;

// Frees the children that have ended. Not done in `ended`, which is called from their own frames.
void scope::sweep() {
    if (stopping_ || children_.size() < 2 * running_ + 16) return;
    std::erase_if(children_, [](const std::unique_ptr<child>& c) { return c->ended; });
}

void scope::spawn(task<void> work) {
    sweep();
    children_.push_back(std::make_unique<child>(parent_));
    child& c = *children_.back();
    ++running_;
    if (failure_) c.line.stop();
    detail::start(c.line, std::move(work), [this, &c](detail::outcome<void> result) {
        ended(c, result.index() == 0 ? std::get<0>(result) : nullptr);
    });
}

void scope::ended(child& c, std::exception_ptr failure) {
    --running_;
    c.ended = true;
    c.line.finish();
    if (failure && c.line.stopped()) {
        // The exception of a cancelled child is not a failure: the scope cancelled it.
        try {
            std::rethrow_exception(failure);
        } catch (const cancelled&) {
            failure = nullptr;
        } catch (...) {  // a real failure: kept below
        }
    }
    if (failure && !failure_) {
        failure_ = std::move(failure);
        stop();
        if (!body_left_) nudge_body();
    }
    wake_joiner();
}

void scope::wake_joiner() {
    if (!busy() && joiner_) std::exchange(joiner_, nullptr)->wake();
}

// Posted to the loop: the body may run to its end and destroy the scope, which must not happen while a child is on the stack
// (ending or being stopped).
void scope::nudge_body() {
    parent_.expect_nudge();
    nudge_posted_ = parent_.loop().post([this] {
        nudge_posted_ = false;
        parent_.nudge_came();
        if (body_left_) return wake_joiner();
        nudged_ = true;
        parent_.nudge();
    });
}

void scope::leave(std::exception_ptr failure) noexcept {
    body_left_ = true;
    if (!failure_) failure_ = std::move(failure);
    stop();
}

void scope::stop() noexcept {
    stopping_ = true;
    for (std::size_t i = 0; i < children_.size(); ++i) {  // by index: stopping one may spawn another
        if (!children_[i]->ended) children_[i]->line.stop();
    }
    stopping_ = false;
}

task<void> scope::join() {
    body_left_ = true;
    while (busy()) {
        try {
            joiner all(*this);
            co_await all;
        } catch (const cancelled&) {
            // Cancelled (or an outer scope failed) while children are running: cancel them too, and wait for them.
            interrupted_ = true;
            stop();
        }
    }
    if (nudged_) parent_.forget_nudge();  // in case the body ended before any wait threw
}

void scope::throw_failure() {
    if (failure_) std::rethrow_exception(failure_);
    if (interrupted_) throw cancelled();
}

}  // namespace keel
