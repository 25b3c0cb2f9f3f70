#include "http/client_quotas.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <unordered_map>

namespace keel::inline KEEL_ABI::http {

namespace {

constexpr unsigned v6_client_bits = 64;
constexpr char v4_key = '4';
constexpr char v6_key = '6';
constexpr char principal_key = 'p';

std::string key_of(const ip_address& a) {
    std::string key(1, a.is_v4() ? v4_key : v6_key);
    key.append(reinterpret_cast<const char*>(a.bytes().data()), a.is_v4() ? 4 : v6_client_bits / 8);
    return key;  // short enough to need no allocation
}

}  // namespace

// ---- counting ----

bool counted_use::take(std::shared_ptr<client_usage> of, counter what, std::size_t limit) noexcept {
    release();
    if (!of) return true;
    if (++((*of).*what) > limit && limit > 0) {
        --((*of).*what);
        return false;
    }
    of_ = std::move(of);
    what_ = what;
    return true;
}

const client_usage* counted_pair::take(const client_pair& of, counted_use::counter what, std::size_t limit) noexcept {
    counted_use address;
    counted_use principal;
    if (!address.take(of.address, what, limit)) return of.address.get();
    if (!principal.take(of.principal, what, limit)) return of.principal.get();
    address_ = std::move(address);
    principal_ = std::move(principal);
    return nullptr;
}

std::size_t counted_calls::room(std::size_t limit) const noexcept {
    std::size_t least = std::numeric_limits<std::size_t>::max();
    for (const client_usage* each : {of_.address.get(), of_.principal.get()}) {
        if (!each || limit == 0) continue;
        const std::size_t used = each->calls;
        least = std::min(least, used >= limit ? 0 : limit - used);
    }
    return least;
}

// ---- the table ----

struct client_quotas::table {
    mutable std::mutex mutex;  // the threads of the server meet here when a client connects and when it is gone
    std::unordered_map<std::string, std::weak_ptr<client_usage>> clients;
};

client_quotas::client_quotas(const quota_limits& limits) : limits_(limits), table_(std::make_shared<table>()) {}

client_quotas::~client_quotas() = default;

std::shared_ptr<client_usage> client_quotas::find(std::string key) {
    {
        std::lock_guard lock(table_->mutex);
        auto at = table_->clients.find(key);
        if (at != table_->clients.end()) {
            if (auto found = at->second.lock()) return found;
        }
    }
    // Not under the lock: the deleter takes it.
    std::shared_ptr<client_usage> made(new client_usage(std::move(key)), [in = table_](client_usage* gone) {
        std::unique_ptr<client_usage> owned(gone);
        std::lock_guard lock(in->mutex);
        auto at = in->clients.find(owned->key);
        // Another thread may have created a new entry since the last reference was released.
        if (at != in->clients.end() && at->second.expired()) in->clients.erase(at);
    });
    std::lock_guard lock(table_->mutex);
    std::weak_ptr<client_usage>& entry = table_->clients[made->key];
    if (auto found = entry.lock()) return found;  // another thread was faster
    entry = made;
    return made;
}

std::shared_ptr<client_usage> client_quotas::of(const ip_address& a) {
    return active() && a.present() ? find(key_of(a)) : nullptr;
}

std::shared_ptr<client_usage> client_quotas::of_principal(std::string_view name) {
    return active() && !name.empty() ? find(principal_key + std::string(name)) : nullptr;
}

bool client_quotas::is(const client_usage* was, const ip_address& a) {
    return was ? was->key == key_of(a) : !a.present();
}

bool client_quotas::is_principal(const client_usage* was, std::string_view name) noexcept {
    return was ? std::string_view(was->key).substr(1) == name : name.empty();
}

std::size_t client_quotas::size() const {
    std::lock_guard lock(table_->mutex);
    return table_->clients.size();
}

}  // namespace keel::http
