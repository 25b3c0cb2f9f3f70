#include "server/server_hooks.hpp"

#include <stdexcept>

namespace keel::inline KEEL_ABI::server_side {

namespace {

class hook_mark {
public:
    explicit hook_mark(std::atomic<std::thread::id>& at) noexcept : at_(at) { at_ = std::this_thread::get_id(); }
    hook_mark(const hook_mark&) = delete;
    hook_mark& operator=(const hook_mark&) = delete;
    ~hook_mark() { at_ = std::thread::id(); }

private:
    std::atomic<std::thread::id>& at_;
};

}  // namespace

void server_hooks::refuse_in_hook(const char* what) const {
    if (thread_ == std::this_thread::get_id()) {
        throw std::logic_error(std::string("keel: server::") + what + " must not be called in a start or stop hook");
    }
}

void server_hooks::refuse_if_begun(const char* what) const {
    if (begun_) {
        throw std::logic_error(std::string("keel: server::") + what +
                               " must not be called while the server is running");
    }
}

void server_hooks::refuse_while_running(const char* what) {
    refuse_in_hook(what);
    std::lock_guard lock(mutex_);
    refuse_if_begun(what);
}

void server_hooks::add_start(std::function<detail::started_state()> hook) {
    refuse_in_hook("on_start");
    std::lock_guard lock(mutex_);
    refuse_if_begun("on_start");
    start_hooks_.push_back(std::move(hook));
}

void server_hooks::add_stop(std::function<void()> hook) {
    refuse_in_hook("on_stop");
    std::lock_guard lock(mutex_);
    refuse_if_begun("on_stop");
    stop_hooks_.push_back(std::move(hook));
}

void server_hooks::start() {
    refuse_in_hook("start");
    std::lock_guard lock(mutex_);
    if (begun_) return;
    hook_mark inside(thread_);
    auto made = std::make_shared<started_states>();  // if a hook throws, the objects are destroyed in reverse order
    for (const auto& hook : start_hooks_) made->add(hook());
    core_.set_states(std::move(made));
    abandoned_before_ = core_.totals.abandoned;
    handlers_lost_ = false;
    begun_ = true;
}

void server_hooks::finish() {
    std::lock_guard lock(mutex_);
    if (!begun_) return;
    hook_mark inside(thread_);
    for (const auto& hook : stop_hooks_) {
        try {
            hook();
        } catch (const std::exception& e) {
            core_.log(log_level::error, std::string("an on_stop hook threw: ") + e.what());
        } catch (...) {  // not a std::exception: there is no text to log
            core_.log(log_level::error, "an on_stop hook threw an exception that is not a std::exception");
        }
    }
    auto states = core_.set_states(nullptr);
    // If a handler was abandoned, it may still use the objects: they live as long as its context. Otherwise they are released
    // now, even if a context was saved.
    if (core_.totals.abandoned == abandoned_before_ && !handlers_lost_) states->release();
    begun_ = false;
}

}  // namespace keel::server_side
