#include "http/http_server_core.hpp"

#include "http/http_connection.hpp"
#include "http/legacy_session.hpp"
#include "http/mounted_connection.hpp"
#include "http/stateless_handler.hpp"
#include "http/unavailable.hpp"
#include "transport/sockets.hpp"
#include "transport/system_memory.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <future>

namespace keel::inline KEEL_ABI::http {

namespace {

constexpr duration longest_tick = std::chrono::seconds(1);
constexpr duration shortest_tick = std::chrono::milliseconds(5);
// Sent to clients beyond max_connections, without reading their requests.
constexpr std::string_view no_room =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

duration tick_for(const http_limits& l) {
    duration least = std::min({l.head_time, l.body_time, l.idle_time, l.session_idle, l.unused_session, l.keep_alive,
                               l.ended_stream, l.server_idle});
    return std::clamp(least / 4, shortest_tick, longest_tick);
}

std::size_t total_budget(const http_limits& l) {
    return l.max_buffered > 0 ? l.max_buffered : transport::available_memory() / 4;
}

}  // namespace

http_server_core::http_server_core(std::shared_ptr<server_access::impl> s, http_options o)
    : options(std::move(o)), server(std::move(s)), tenants(server, options), budget(total_budget(options.limits)),
      quotas({.connections = options.limits.max_connections_per_client,
              .sessions = options.limits.max_sessions_per_client,
              .calls = options.limits.max_in_flight_per_client}),
      tick(tick_for(options.limits)) {
    if (options.path.empty() || options.path[0] != '/') {
        throw std::invalid_argument("keel: http_options.path must begin with '/': \"" + options.path + "\"");
    }
    if (options.tls_certificate.empty() != options.tls_key.empty()) {
        throw std::invalid_argument("keel: http_options: tls_certificate and tls_key must be set together");
    }
    if (!options.tls_certificate.empty()) {
        tls = std::make_unique<tls::tls_context>(tls::tls_files{options.tls_certificate, options.tls_key});
    }
    // Both throw if the options have an invalid entry.
    origins = origin_check({.hosts = options.allow_hosts, .origins = options.allow_origins});
    try {
        proxies = trusted_proxies(options.trusted_proxies);
    } catch (const std::invalid_argument& e) {
        throw std::invalid_argument(std::string("keel: http_options.trusted_proxies: ") + e.what());
    }
}

http_server_core::~http_server_core() { join(); }

unsigned http_server_core::wanted_workers() const {
    return options.threads > 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
}

void http_server_core::open(const std::string& address, std::shared_ptr<keel::loop> first, unsigned workers) {
    {
        std::lock_guard lock(mutex_);
        if (stopping_) throw std::runtime_error("keel: http_server was stopped while it was starting");
    }
    try {
        listen(*first, address, false);
        if (!options.monitor_address.empty()) listen(*first, options.monitor_address, true);
        open_workers(std::move(first), workers);
    } catch (const std::exception&) {  // connections must not be accepted without a worker
        for (const auto& each : listeners_) each->close();
        listeners_.clear();
        throw;
    }
}

transport::listen_address http_server_core::check_address(const std::string& address, bool monitor) const {
    auto where = transport::listen_address::parse(address);
    if (!monitor && !where.is_local() && options.allow_hosts.empty()) {
        throw std::invalid_argument(
            "keel: refusing to listen on " + where.text() +
            ": on an address that is not loopback, the server must know its host names (DNS rebinding); set "
            "http_options::allow_hosts (--allow-host NAME), or accept every name with \"*\" (--allow-any-host)");
    }
    return where;
}

std::unique_ptr<listener> http_server_core::listener_at(keel::loop& on, const transport::listen_address& where,
                                                        bool monitor) {
    auto taken = [weak = weak_from_this(), monitor](transport::descriptor socket, std::string name) {
        if (auto self = weak.lock()) self->accepted(std::move(socket), std::move(name), monitor);
    };
    std::string full(no_room);
    if (where.inherited >= 0) return transport::listen_inherited_sockets(on, where.inherited, taken, full);
    if (where.what == transport::listen_address::kind::tcp) {
        return transport::listen_tcp_sockets(on, where.tcp, taken, full);
    }
    return transport::listen_unix_sockets(on, where.path, options.socket_mode, taken, full);
}

void http_server_core::listen(keel::loop& on, const std::string& address, bool monitor) {
    auto where = check_address(address, monitor);
    if (!monitor) {
        origins = origin_check({.loopback = where.is_local(),
                                .hosts = options.allow_hosts,
                                .origins = options.allow_origins,
                                .cors = !options.allow_origins.empty()});
    }
    listeners_.push_back(listener_at(on, where, monitor));
    const bool has_port = where.what == transport::listen_address::kind::tcp;
    if (has_port) where.tcp.port = listeners_.back()->port();
    const std::string origin = (tls ? "https://" : "http://") + where.text();
    std::lock_guard lock(mutex_);
    if (monitor) monitor_url_ = origin;
    else url_ = origin + (has_port ? "" : ":") + options.path;  // with a Unix socket as nginx writes it
}

void http_server_core::open_workers(std::shared_ptr<keel::loop> first, unsigned workers) {
    std::vector<std::shared_ptr<async::epoll_loop>> own;
    std::vector<std::unique_ptr<http_worker>> made;
    made.push_back(std::make_unique<http_worker>(*this, 0, std::move(first)));
    for (unsigned i = 1; i < workers; ++i) {
        own.push_back(async::epoll_loop::create());
        made.push_back(std::make_unique<http_worker>(*this, i, own.back()));
    }
    bool stopped = false;
    {
        std::lock_guard lock(mutex_);
        workers_ = std::move(made);
        workers_running_ = workers_.size();
        stopped = stopping_;
    }
    for (const auto& each : own) run_in_thread(each);
    workers_[0]->arm();
    if (!stopped && server->add_transport(shared_from_this())) return;
    stop({});
    throw std::runtime_error("keel: the server is stopping");
}

void http_server_core::run_in_thread(const std::shared_ptr<async::epoll_loop>& l) {
    own_loops_.push_back(l);
    threads_.emplace_back([l] {
        l->run();
        l->end();
    });
}

void http_server_core::open_in_background(const std::string& address, unsigned workers) {
    check_address(address, false);
    if (!options.monitor_address.empty()) check_address(options.monitor_address, true);
    open_on_own_thread("cannot listen on " + address,
                       [=, this](std::shared_ptr<keel::loop> first) { open(address, std::move(first), workers); });
}

void http_server_core::open_mounted_in_background(unsigned workers) {
    open_on_own_thread("cannot start",
                       [=, this](std::shared_ptr<keel::loop> first) { open_mounted(std::move(first), workers); });
}

void http_server_core::open_on_own_thread(const std::string& what,
                                          std::function<void(std::shared_ptr<keel::loop>)> open_on) {
    auto first = async::epoll_loop::create();
    run_in_thread(first);
    foreign_first_ = false;
    // The error as a value: exception objects are not passed between threads.
    struct failure {
        std::string what = {};
        std::error_code code = {};
        bool invalid = false;  // the address
    };
    auto opened = std::make_shared<std::promise<failure>>();
    auto future = opened->get_future();
    first->post([&what, &open_on, first, opened] {
        failure failed;
        try {
            open_on(first);
        } catch (const std::system_error& e) {
            failed = {what, e.code()};
        } catch (const std::invalid_argument& e) {
            failed = {e.what(), {}, true};
        } catch (const std::exception& e) {
            failed = {e.what(), {}};
        }
        opened->set_value(std::move(failed));
    });
    failure failed = future.get();
    if (failed.code) throw std::system_error(failed.code, failed.what);
    if (failed.invalid) throw std::invalid_argument(failed.what);
    if (!failed.what.empty()) throw std::runtime_error(failed.what);
}

// ---- requests of the program's own HTTP server ----

void http_server_core::open_mounted(std::shared_ptr<keel::loop> first, unsigned workers) {
    origins = origin_check(
        {.hosts = options.allow_hosts, .origins = options.allow_origins, .cors = !options.allow_origins.empty()});
    open_workers(std::move(first), workers);
}

std::shared_ptr<mounted_call> http_server_core::handle(const mounted_request& r, std::shared_ptr<mounted_response> to) {
    if (!to) throw std::invalid_argument("keel: http_server::handle: the response is null");
    http_worker* worker = nullptr;
    {
        std::lock_guard lock(mutex_);
        if (workers_.empty()) throw std::logic_error("keel: http_server::handle must be called after start_mounted");
        worker = workers_[next_mounted_++ % workers_.size()].get();
    }
    auto call = std::make_shared<mounted_handle>(worker->loop);
    std::optional<std::string> text = request_text(r);
    const ip_address client = ip_address::parse(r.remote_address).value_or(ip_address());
    // Always posted: the caller does not expect calls before this function has returned.
    bool posted =
        worker->loop->post([self = shared_from_this(), worker, call, to, text = std::move(text), client]() mutable {
            if (call->disconnected()) return;
            if (text) return self->serve_mounted(*worker, std::move(*text), std::move(to), std::move(call), client);
            ++self->counters.refused;
            refuse_mounted(*to, 400, {error_code::invalid_request, "invalid character in the request", {}});
        });
    if (!posted) to->on_abort();  // the loop has ended
    return call;
}

void http_server_core::serve_mounted(http_worker& on, std::string text, std::shared_ptr<mounted_response> to,
                                     std::shared_ptr<mounted_handle> call, const ip_address& client) {
    auto refuse = [&](const unavailable& why) {
        ++counters.refused;
        refuse_mounted(*to, why.status, why.error);
    };
    if (on.stopping()) return refuse(shutting_down());
    if (budget.tight()) return refuse(low_memory());
    counted_use use;
    if (!on.count_connection(client, use)) return refuse(too_many_connections_of_client());
    if (counters.connections.fetch_add(1) >= options.limits.max_connections) {
        --counters.connections;
        return refuse(too_many_connections());
    }
    auto closed = [self = shared_from_this()] { --self->counters.connections; };
    on.adopt_mounted(
        std::make_unique<mounted_connection>(on.loop, std::move(text), std::move(to), std::move(call), closed), client,
        std::move(use));
}

void http_server_core::accepted(transport::descriptor socket, std::string name, bool monitor) {
    // Monitoring must work when memory is short.
    if (counters.connections.fetch_add(1) >= options.limits.max_connections || (!monitor && budget.tight())) {
        --counters.connections;
        ++counters.refused;
        transport::say_and_close(std::move(socket), no_room);
        return;
    }
    // Keeps unsent output in our own buffers, where limits apply to it, instead of megabytes in the kernel.
    int most_unsent = 128 * 1024;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most_unsent, sizeof most_unsent);
    http_worker& to = *workers_[next_worker_++ % workers_.size()];
    if (to.loop->here()) return to.adopt(std::move(socket), name, monitor);
    auto held = std::make_shared<transport::descriptor>(std::move(socket));
    to.loop->post([self = shared_from_this(), &to, held, name = std::move(name), monitor] {
        to.adopt(std::move(*held), name, monitor);
    });
}

void http_server_core::stop(duration drain) {
    {
        std::lock_guard lock(mutex_);
        stopping_ = true;
        ready = false;
        if (workers_running_ == 0) return;  // not started, or already stopped
    }
    for (auto& each : workers_) {
        auto begin = [self = shared_from_this(), l = each.get(), drain] {
            if (l->index == 0) {
                for (const auto& listener : self->listeners_) listener->close();
            }
            l->stop(drain);
            l->flush_dirty();
        };
        if (each->loop->here()) begin();
        else if (!each->loop->post(begin)) worker_ended(*each);  // the caller's loop has ended
    }
}

void http_server_core::stop_after_notice(duration drain) {
    ready = false;
    bool wait = options.unready_time > duration::zero();
    if (wait) {
        std::lock_guard lock(mutex_);
        if (stopping_ || workers_running_ == 0) wait = false;
        else if (std::exchange(notice_given_, true)) return;
    }
    if (!wait) return stop(drain);
    const auto& on = workers_[0]->loop;
    // The timer keeps this object alive; `stop` does nothing if all has ended meanwhile.
    bool posted = on->post([self = shared_from_this(), drain] {
        start_timer_after(*self->workers_[0]->loop, self->options.unready_time, [self, drain] { self->stop(drain); });
    });
    if (!posted) stop(drain);
}

void http_server_core::worker_ended(http_worker& which) {
    {
        std::lock_guard lock(mutex_);
        if (std::exchange(which.end_reported, true) || --workers_running_ > 0) return;
        releasing_ = true;
    }
    tenants.end(server->core().options.limits.cleanup_grace);
    {
        std::lock_guard lock(mutex_);
        releasing_ = false;
    }
    for (auto& each : own_loops_) each->stop();
    changed_.notify_all();
    server->transport_ended(this);
}

void http_server_core::wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return all_ended(); });
}

void http_server_core::wait_and_join() {
    if (!in_own_thread()) wait();
    join();
}

bool http_server_core::wait_for_own() {
    std::unique_lock lock(mutex_);
    if (foreign_first_ && workers_running_ > 0) return false;
    changed_.wait(lock, [this] { return all_ended(); });
    return true;
}

void http_server_core::join() {
    for (auto& each : own_loops_) each->stop();
    for (std::thread& each : threads_) {
        if (!each.joinable()) continue;
        if (each.get_id() == std::this_thread::get_id()) each.detach();
        else each.join();
    }
    threads_.clear();
}

bool http_server_core::in_own_thread() const noexcept {
    return std::any_of(workers_.begin(), workers_.end(), [](const auto& each) { return each->loop->here(); });
}

std::shared_ptr<const budgeted_text> http_server_core::keep(std::string_view text) {
    auto kept =
        std::make_shared<const budgeted_text>(std::shared_ptr<memory_budget>(shared_from_this(), &budget), text);
    return text.size() > http1_core::small_buffer && budget.exceeded() ? nullptr : kept;
}

std::uint64_t http_server_core::requests() const noexcept {
    std::uint64_t all = 0;
    for (const auto& each : workers_) all += each->requests.load(std::memory_order_relaxed);
    return all;
}

std::string http_server_core::url() const {
    std::lock_guard lock(mutex_);
    return url_;
}

std::string http_server_core::monitor_url() const {
    std::lock_guard lock(mutex_);
    return monitor_url_;
}

void http_server_core::renew_certificate() {
    try {
        if (tls->reload_if_changed()) server->core().log(log_level::notice, "TLS certificate reloaded");
    } catch (const std::exception& e) {
        server->core().log(log_level::error, std::string("cannot reload the TLS certificate: ") + e.what());
    }
}

}  // namespace keel::http
