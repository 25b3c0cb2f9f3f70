#include "server/served_set.hpp"

#include "async/release_later.hpp"

#include <algorithm>

namespace keel::inline KEEL_ABI::server_side {

served_set::admission served_set::add(std::shared_ptr<keel::loop> on, bool own_streams, const session_maker& make) {
    admission added;
    added.key = sessions_.new_key();
    added.session = make(added.key);
    session_entry entry;
    entry.session = added.session;
    entry.loop = std::move(on);
    entry.own_streams = own_streams;
    sessions_.add(added.key, std::move(entry));
    return added;
}

served_set::admission served_set::add_connection(std::shared_ptr<keel::loop> on, std::size_t max_connections,
                                                 const session_maker& make) {
    std::lock_guard lock(mutex_);
    admission refused;
    if (stopped_) refused.refusal = "server shutting down";
    else if (sessions_.connections() >= max_connections)
        refused.refusal = "too many connections (server_options::max_connections)";
    if (refused.refusal) return refused;
    return add(std::move(on), false, make);
}

std::shared_ptr<server_session> served_set::add_session(std::shared_ptr<keel::loop> on, const session_maker& make) {
    std::lock_guard lock(mutex_);
    return stopped_ ? nullptr : add(std::move(on), true, make).session;
}

void served_set::session_ended(std::uint64_t key, const connection_end& end) {
    std::optional<session_entry> ended;
    {
        std::lock_guard lock(mutex_);
        ended = sessions_.remove(key);
        if (!ended) return;
        last_ = end;
    }
    detail::release_later(*ended->loop, std::move(ended->session));  // the session is on the stack
    check_idle(ended->loop.get());
}

void served_set::add_listener(std::shared_ptr<listener> l, std::shared_ptr<keel::loop> on) {
    std::lock_guard lock(mutex_);
    address_ = l->describe();
    listeners_.push_back({std::move(l), std::move(on)});
}

bool served_set::add_transport(std::shared_ptr<server_transport> t) {
    std::lock_guard lock(mutex_);
    if (stopped_) return false;
    transports_.push_back(std::move(t));
    return true;
}

void served_set::transport_ended(const server_transport* t) {
    std::shared_ptr<server_transport> ended;  // destroyed outside the lock
    {
        std::lock_guard lock(mutex_);
        auto at =
            std::find_if(transports_.begin(), transports_.end(), [&](const auto& each) { return each.get() == t; });
        if (at == transports_.end()) return;
        ended = std::move(*at);
        transports_.erase(at);
    }
    check_idle();
}

served_set::stopped served_set::stop() {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    stopped all;
    all.listeners.swap(listeners_);
    all.sessions.assign(sessions_.all().begin(), sessions_.all().end());
    all.transports = transports_;
    return all;
}

void served_set::resume() {
    std::lock_guard lock(mutex_);
    stopped_ = false;
}

connection_end served_set::wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return idle(); });
    return last_;
}

void served_set::wait_for(const std::shared_ptr<keel::loop>& l) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !sessions_.any([&](const session_entry& each) { return each.loop == l; }); });
}

void served_set::on_idle(std::function<void()> f) {
    std::lock_guard lock(mutex_);
    on_idle_ = std::move(f);
}

void served_set::on_stopped(std::function<void()> f) {
    std::lock_guard lock(mutex_);
    on_stopped_.push_back(std::move(f));
}

void served_set::check_idle(keel::loop* ending) {
    std::function<void()> tell;
    std::vector<std::function<void()>> stopped;
    {
        std::lock_guard lock(mutex_);
        if (idle()) tell = on_idle_;
        if (idle() && stopped_) stopped.swap(on_stopped_);
    }
    changed_.notify_all();
    if (tell) tell();
    if (stopped.empty()) return;
    auto run = [all = std::move(stopped)] {
        for (const auto& each : all) each();
    };
    if (!ending || !ending->post(run)) run();
}

bool served_set::resting() const {
    std::lock_guard lock(mutex_);
    return stopped_ && idle();
}

std::size_t served_set::sessions() const {
    std::lock_guard lock(mutex_);
    return sessions_.size();
}

bool served_set::has_transports() const {
    std::lock_guard lock(mutex_);
    return !transports_.empty();
}

bool served_set::any_here() const {
    std::lock_guard lock(mutex_);
    return sessions_.any([](const session_entry& each) { return each.loop->here(); });
}

std::string served_set::address() const {
    std::lock_guard lock(mutex_);
    return address_;
}

void served_set::set_address(std::string text) {
    std::lock_guard lock(mutex_);
    address_ = std::move(text);
}

void served_set::list_changed(list_kind which) const {
    std::vector<session_entry> all;
    {
        std::lock_guard lock(mutex_);
        for (const auto& [key, each] : sessions_.all()) all.push_back(each);
    }
    unsigned bit = 1U << static_cast<unsigned>(which);
    for (const session_entry& each : all) {
        if (each.changes->fetch_or(bit) != 0) continue;  // a message is pending
        each.loop->post([weak = std::weak_ptr(each.session), changes = each.changes] {
            unsigned kinds = changes->exchange(0);
            auto s = weak.lock();
            if (!s || s->closed()) return;
            for (unsigned kind = 0; kind < list_kinds; ++kind) {
                if (kinds & (1U << kind)) s->list_changed(static_cast<list_kind>(kind));
            }
        });
    }
}

}  // namespace keel::server_side
