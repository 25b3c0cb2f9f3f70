#include "http/tenant_servers.hpp"

#include "rpc/message.hpp"

#include <cxxabi.h>

#include <system_error>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::http {

namespace {

constexpr tenant_refusal failed = {500, "internal error: the server for this client could not be created"};
constexpr tenant_refusal not_available = {503, "there is no server for this client at the moment"};
constexpr tenant_refusal too_many = {503, "too many servers are in use"};

/// Destroys the tenant on the thread of `cleaner`; here if that has ended.
struct release_on_thread {
    std::shared_ptr<async::worker_pool> cleaner;

    void operator()(const tenant* t) const {
        std::shared_ptr<const tenant> owned(t);
        try {
            cleaner->submit([owned] {});
        } catch (const std::system_error&) {
            // No thread can be created: the server is destroyed here.
        }
    }
};

}  // namespace

tenant_servers::tenant_servers(std::shared_ptr<server_access::impl> base, const http_options& options)
    : base_(std::move(base)), common_(std::make_shared<const tenant>(tenant{nullptr, base_})),
      make_(options.server_for), most_(options.limits.max_servers), idle_(options.limits.server_idle) {}

tenant_result tenant_servers::create(std::string_view principal, bool session) const {
    const std::string whom = session ? "a session" : "principal \"" + rpc::printable(principal) + "\"";
    auto report = [&](const std::string& why) {
        base_->core().report(log_level::error, "cannot create a server for " + whom + ": " + why);
    };
    try {
        std::shared_ptr<keel::server> made = make_(server_request{std::string(principal), session});
        if (!made) {
            report("http_options::server_for returned null");
            return {nullptr, not_available};
        }
        auto impl = server_access::of(*made);
        impl->begin_serving();  // runs the start hooks
        auto* owned = new tenant{std::move(made), std::move(impl)};
        return {std::shared_ptr<const tenant>(owned, release_on_thread{cleaner_}), {}};
    } catch (abi::__forced_unwind&) {
        throw;
    } catch (const std::exception& e) {
        report(e.what());
    } catch (...) {  // a function of the program may throw anything
        report("http_options::server_for threw an exception that is not a std::exception");
    }
    return {nullptr, failed};
}

tenant_result tenant_servers::for_session(std::string_view principal) const {
    return make_ ? create(principal, true) : tenant_result{common_, {}};
}

tenant_result tenant_servers::for_principal(std::string_view principal, time_point now) {
    if (!make_) return {common_, {}};
    std::shared_ptr<entry> at;
    std::shared_ptr<const tenant> released;  // destroyed without the lock
    {
        std::lock_guard lock(mutex_);
        auto found = entries_.find(principal);
        if (found != entries_.end() && found->second->made) {
            found->second->used = now;
            return {found->second->made, {}};
        }
        if (found == entries_.end()) {
            if (entries_.size() >= most_ && !(released = release_oldest())) {
                base_->core().report(log_level::warning, "refused a request: http_limits::max_servers is reached");
                return {nullptr, too_many};
            }
            found = entries_.emplace(std::string(principal), std::make_shared<entry>()).first;
        }
        at = found->second;
        ++at->waiting;
    }
    std::lock_guard creating(at->creating);
    tenant_result result;
    {
        std::lock_guard lock(mutex_);
        result.found = at->made;  // another thread may have created it meanwhile
    }
    if (!result.found) result = create(principal, false);
    std::lock_guard lock(mutex_);
    --at->waiting;
    if (result.found) {
        at->made = result.found;
        at->used = now;
    } else if (at->waiting == 0) {
        auto found = entries_.find(principal);
        if (found != entries_.end() && found->second == at) entries_.erase(found);
    }
    return result;
}

/// Removes the server that was not used for the longest time and is not in use now; null if there is none. Called with the lock.
std::shared_ptr<const tenant> tenant_servers::release_oldest() {
    auto oldest = entries_.end();
    for (auto each = entries_.begin(); each != entries_.end(); ++each) {
        const entry& e = *each->second;
        const bool in_use = !e.made || e.made.use_count() > 1 || e.waiting > 0;
        if (!in_use && (oldest == entries_.end() || e.used < oldest->second->used)) oldest = each;
    }
    if (oldest == entries_.end()) return nullptr;
    auto released = oldest->second->made;
    entries_.erase(oldest);
    return released;
}

void tenant_servers::check_idle(time_point now) {
    if (!make_) return;
    std::vector<std::shared_ptr<entry>> released;  // destroyed without the lock
    std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const auto& each) {
        entry& e = *each.second;
        if (!e.made || e.waiting > 0) return false;
        if (e.made.use_count() > 1) e.used = now;  // a connection or a running call uses it
        if (now - e.used < idle_) return false;
        released.push_back(each.second);
        return true;
    });
}

void tenant_servers::end(duration bound) {
    {
        std::map<std::string, std::shared_ptr<entry>, std::less<>> released;  // destroyed without the lock
        std::lock_guard lock(mutex_);
        released.swap(entries_);
    }
    cleaner_->shut_down(bound);
}

std::size_t tenant_servers::size() const {
    std::lock_guard lock(mutex_);
    return entries_.size();
}

}  // namespace keel::http
