#include <keel/async.hpp>

namespace keel {

void sleep_for::arm() {
    loop& l = current().loop();
    timer_ = l.start_timer(l.now() + duration_, [this] { resume(); });
}

void sleep_for::interrupt() noexcept {
    current().loop().stop_timer(timer_);
    resume();
}

void yield::arm() {
    current().loop().post([this] { resume(); });
}

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
    set_ = true;
    // One at a time from the front: whoever wakes may cancel another who waits.
    while (waiter* w = first_) {
        remove(*w);
        w->resume();
    }
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

// Waits until no child runs. Not interruptible: cancelling has reached the children themselves. The wake-up goes
// through the loop, so that a child never ends its own parent while somebody is still stopping it.
class scope::joiner {
public:
    explicit joiner(scope& s) noexcept : scope_(s) {}
    bool await_ready() const noexcept { return scope_.running_ == 0; }
    void await_suspend(std::coroutine_handle<> h) noexcept {
        waiting_ = h;
        scope_.joiner_ = this;
    }
    void await_resume() const noexcept {}
    void wake() {
        scope_.parent_.loop().post([h = waiting_] { h.resume(); });
    }

private:
    scope& scope_;
    std::coroutine_handle<> waiting_;
};

scope::scope(detail::activity& parent) noexcept : parent_(parent) {}

scope::~scope() = default;

// Ended children wait here to be freed: not in `ended`, which still runs on their own stack.
void scope::sweep() {
    if (stopping_ || children_.size() < 2 * running_ + 16) return;
    std::erase_if(children_, [](const std::unique_ptr<child>& c) { return c->ended; });
}

void scope::spawn(task<void> work) {
    sweep();
    children_.push_back(std::make_unique<child>(parent_));
    child& c = *children_.back();
    ++running_;
    detail::start(c.line, std::move(work), [this, &c](detail::outcome<void> result) {
        ended(c, result.index() == 0 ? std::get<0>(result) : nullptr);
    });
}

void scope::ended(child& c, std::exception_ptr failure) {
    --running_;
    c.ended = true;
    if (failure) {
        bool wish = c.line.stopped();
        if (wish) {
            // Being cancelled at our own wish is neither success nor failure.
            try {
                std::rethrow_exception(failure);
            } catch (const cancelled&) {
                failure = nullptr;
            } catch (...) {  // a real failure: kept below
            }
        }
        if (failure) fail(failure);
    }
    if (running_ == 0 && joiner_) std::exchange(joiner_, nullptr)->wake();
}

void scope::fail(std::exception_ptr failure) noexcept {
    if (failure_) return;
    failure_ = std::move(failure);
    stop();
    if (!body_left_) parent_.nudge();
}

void scope::leave(std::exception_ptr failure) noexcept {
    body_left_ = true;
    fail(std::move(failure));
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
    co_await joiner(*this);
    parent_.forget_nudge();  // ours, if the body ended without noticing it
}

void scope::throw_failure() {
    if (failure_) std::rethrow_exception(failure_);
}

}  // namespace keel
