#include "http/http_worker.hpp"

#include "async/reactor.hpp"
#include "async/release_later.hpp"
#include "http/http_connection.hpp"
#include "http/http_server_core.hpp"
#include "http/legacy_session.hpp"
#include "http/stateless_handler.hpp"
#include "tls/tls_connection.hpp"
#include "transport/fd_connection.hpp"
#include "transport/sockets.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace keel::inline KEEL_ABI::http {

namespace {

// Sent to clients beyond max_connections_per_client, without reading their requests.
constexpr std::string_view quota_reached =
    "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

}  // namespace

http_worker::http_worker(http_server_core& s, unsigned i, std::shared_ptr<keel::loop> on)
    : shared(s), index(i), loop(std::move(on)) {
    update_clock();
    // Spare buffers are not part of the budget: they are empty after a second.
    if (auto* spares = async::spares_of(*loop)) spares->limit(s.budget.total() / 16);
}

http_worker::~http_worker() { loop->stop_timer(timer_); }

void http_worker::adopt(transport::descriptor socket, const std::string& name, bool monitor) {
    if (stopping_) {
        --shared.counters.connections;
        return;
    }
    const ip_address peer = ip_address::parse(transport::remote_host(socket.get())).value_or(ip_address());
    counted_use use;
    if (!monitor && !count_connection(peer, use)) {  // monitoring must work when the quota is used up
        --shared.counters.connections;
        ++shared.counters.refused;
        return transport::say_and_close(std::move(socket), quota_reached);
    }
    hold();  // TLS may still write after the connection was closed
    auto counted = [this, all = shared.shared_from_this()] {
        --all->counters.connections;
        let_go();
    };
    adopt(std::make_unique<transport::fd_connection>(async::reactor_of(*loop), std::move(socket), name,
                                                     std::move(counted)),
          peer, monitor, std::move(use));
}

void http_worker::adopt(std::unique_ptr<connection> wire, const ip_address& peer, bool monitor, counted_use use) {
    try {
        if (shared.tls)
            wire = std::make_unique<tls::tls_connection>(*loop, std::move(wire), *shared.tls,
                                                         shared.server->core().options.limits.final_write);
        begin(std::move(wire), peer, monitor, std::move(use));
    } catch (const std::exception& e) {
        shared.server->core().report(log_level::error, std::string("cannot serve a connection: ") + e.what());
    }
    arm();
}

void http_worker::adopt_mounted(std::unique_ptr<connection> wire, const ip_address& peer, counted_use use) {
    try {
        begin(std::move(wire), peer, false, std::move(use));
    } catch (const std::exception& e) {
        shared.server->core().report(log_level::error, std::string("cannot serve a request: ") + e.what());
    }
    arm();
}

bool http_worker::count_connection(const ip_address& peer, counted_use& use) {
    client_quotas& quotas = shared.quotas;
    return shared.proxies.contains(peer) ||
           use.take(quotas.of(peer), &client_usage::connections, quotas.limits().connections);
}

void http_worker::begin(std::unique_ptr<connection> wire, const ip_address& peer, bool monitor, counted_use use) {
    if (timer_ == 0) update_clock();
    auto c = std::make_shared<http_connection>(*this, std::move(wire), peer, monitor, std::move(use));
    connections_.emplace(c.get(), c);
    c->start();
}

void http_worker::remove(http_connection* c) {
    auto at = connections_.find(c);
    if (at == connections_.end()) return;
    detail::release_later(*loop, std::move(at->second));  // one of its functions may be on the stack
    connections_.erase(at);
    check_ended();
}

void http_worker::flush_dirty() {
    // A failed write may cause further writes.
    while (!dirty_.empty()) {
        std::vector<std::shared_ptr<http_connection>> now = std::exchange(dirty_, {});
        for (auto& each : now) each->write_dirty();
    }
}

// ---- the memory budget ----

void http_worker::relieve() {
    if (std::exchange(relieving_, true)) return;  // closing a connection reports its memory
    memory_budget& budget = shared.budget;
    if (auto* spares = async::spares_of(*loop)) spares->clear();
    evict_events();
    close_largest([](const http_connection& c) { return c.waiting(); });
    close_largest([](const http_connection& c) { return c.memory() - http_connection::base_memory; });
    relieving_ = false;
    if (!budget.exceeded()) return;
    // This worker has nothing left to give: its clients hold only what every connection needs.
    for (unsigned i = 0; i < shared.workers(); ++i) {
        http_worker& other = shared.worker_of(i);
        if (&other == this || other.asked_to_relieve_.exchange(true)) continue;
        other.loop->post([&other, all = shared.shared_from_this()] {
            other.asked_to_relieve_ = false;
            if (all->budget.exceeded()) other.relieve();
        });
    }
}

void http_worker::evict_events() {
    while (shared.budget.exceeded()) {
        legacy_session* largest = nullptr;
        for (const auto& [id, s] : sessions_) {
            if (s->stored_bytes() > (largest ? largest->stored_bytes() : 0)) largest = s.get();
        }
        if (!largest) return;
        const std::size_t enough = largest->stored_bytes() / 2;  // not one by one: the search is expensive
        while (shared.budget.exceeded() && largest->stored_bytes() > enough) largest->evict_oldest_event();
    }
}

template <class Size>
void http_worker::close_largest(Size size) {
    while (shared.budget.exceeded()) {
        std::shared_ptr<http_connection> largest;
        for (const auto& [key, c] : connections_) {
            if (size(*c) > (largest ? size(*largest) : 0)) largest = c;
        }
        if (!largest) return;
        ++shared.counters.closed_for_memory;
        largest->close();
    }
}

void http_worker::add_session(std::shared_ptr<legacy_session> s) {
    std::string id = s->id();
    sessions_.emplace(std::move(id), std::move(s));
    arm();
}

std::shared_ptr<legacy_session> http_worker::find_session(std::string_view id) const {
    auto at = sessions_.find(id);
    return at == sessions_.end() ? nullptr : at->second;
}

void http_worker::remove_session(std::string_view id) {
    auto at = sessions_.find(id);
    if (at != sessions_.end()) sessions_.erase(at);
}

void http_worker::let_go() {
    --held_;
    check_ended();
}

void http_worker::arm() {
    bool watches_files = index == 0 && shared.tls;
    bool watches_tenants = shared.tenants.enabled() && shared.tenants.size() > 0;
    if (timer_ != 0 || ended_ || (connections_.empty() && sessions_.empty() && !watches_files && !watches_tenants))
        return;
    timer_ = loop->start_timer(loop->now() + shared.tick, [this] {
        timer_ = 0;
        tick();
    });
}

void http_worker::update_clock() {
    now_ = loop->now();
    std::time_t t = std::time(nullptr);
    if (t == date_of_) return;
    date_of_ = t;
    std::tm utc{};
    ::gmtime_r(&t, &utc);
    // Not strftime: HTTP dates use English names in every locale.
    constexpr const char* days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    char line[64];
    int size = std::snprintf(line, sizeof line, "Date: %s, %02d %s %04d %02d:%02d:%02d GMT\r\n", days[utc.tm_wday],
                             utc.tm_mday, months[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
    date_.assign(line, static_cast<std::size_t>(size));
}

void http_worker::tick() {
    update_clock();
    std::vector<std::shared_ptr<http_connection>> all;
    all.reserve(connections_.size());
    for (const auto& [key, c] : connections_) all.push_back(c);
    for (const auto& c : all) {
        if (now_ >= final_) c->close();
        else c->check_time(now_);
    }
    std::vector<std::shared_ptr<legacy_session>> idle;
    for (const auto& [id, s] : sessions_) {
        if (s->check_idle(now_)) idle.push_back(s);
    }
    for (const auto& s : idle) s->end("the session has expired");
    shared.tenants.check_idle(now_);
    if (index == 0 && shared.tls) shared.renew_certificate();
    flush_dirty();
    arm();
}

void http_worker::stop(duration drain) {
    stopping_ = true;
    update_clock();
    const limits& bounds = shared.server->core().options.limits;
    final_ = std::min(final_, after(after(after(now_, drain), bounds.cleanup_grace), bounds.final_write));
    std::vector<std::shared_ptr<legacy_session>> sessions;
    for (const auto& [id, s] : sessions_) sessions.push_back(s);
    for (const auto& s : sessions) s->stop(drain);
    std::vector<std::shared_ptr<stateless_handler>> orphans(orphans_.begin(), orphans_.end());
    for (const auto& s : orphans) {
        if (!s->ended()) s->session().close(drain);
    }
    std::vector<std::shared_ptr<http_connection>> all;
    for (const auto& [key, c] : connections_) all.push_back(c);
    for (const auto& c : all) c->stop(drain);
    check_ended();
}

void http_worker::check_ended() {
    if (!stopping_ || ended_ || !connections_.empty() || held_ > 0) return;
    ended_ = true;
    loop->stop_timer(std::exchange(timer_, 0));
    // At the end of the turn: a caller of this function may still use the worker.
    loop->post([this, all = shared.shared_from_this()] { all->worker_ended(*this); });
}

}  // namespace keel::http
