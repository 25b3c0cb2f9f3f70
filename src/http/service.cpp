#include "http/service.hpp"

#include "async/release_later.hpp"
#include "http/http_connection.hpp"
#include "http/legacy_session.hpp"
#include "http/modern_side.hpp"
#include "tls/tls_connection.hpp"
#include "transport/fd_connection.hpp"
#include "transport/sockets.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cstdio>
#include <future>

namespace keel::inline KEEL_ABI::http {

namespace {

constexpr duration longest_tick = std::chrono::seconds(1);
constexpr duration shortest_tick = std::chrono::milliseconds(5);
// For a client that cannot be served at all. Written once, without looking at what it says.
constexpr std::string_view no_room =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

duration tick_for(const http_limits& l) {
    duration least = std::min({l.head_time, l.body_time, l.idle_time, l.session_idle, l.keep_alive, l.ended_stream});
    return std::clamp(least / 4, shortest_tick, longest_tick);
}

bool is_loopback(const tcp_address& a) {
    return a.host == "localhost" || a.host == "::1" || a.host.starts_with("127.");
}

}  // namespace

// ---- a lane ----

lane::lane(service& s, unsigned i, std::shared_ptr<keel::loop> on) : shared(s), index(i), loop(std::move(on)) {
    look_at_clock();
}

lane::~lane() { loop->stop_timer(timer_); }

void lane::adopt(transport::descriptor socket, const std::string& name) {
    if (stopping_) {
        --shared.counters.connections;
        return;
    }
    hold();  // TLS may have last words after the connection was closed
    auto counted = [this, all = shared.shared_from_this()] {
        --all->counters.connections;
        let_go();
    };
    adopt(std::make_unique<transport::fd_connection>(async::reactor_of(*loop), std::move(socket), name,
                                                     std::move(counted)));
}

void lane::adopt(std::unique_ptr<connection> wire) {
    try {
        if (shared.tls)
            wire = std::make_unique<tls::tls_connection>(*loop, std::move(wire), *shared.tls,
                                                         shared.server->core->options.limits.final_write);
        if (timer_ == 0) look_at_clock();
        auto c = std::make_shared<http_connection>(*this, std::move(wire));
        connections_.emplace(c.get(), c);
        c->start();
    } catch (const std::exception& e) {
        shared.server->core->report(log_level::error, std::string("a connection could not be served: ") + e.what());
    }
    arm();
}

void lane::remove(http_connection* c) {
    auto at = connections_.find(c);
    if (at == connections_.end()) return;
    detail::release_later(*loop, std::move(at->second));  // one of its functions may be running
    connections_.erase(at);
    check_ended();
}

void lane::flush_dirty() {
    // Writing can fail, and what that sets off can have something to write.
    while (!dirty_.empty()) {
        std::vector<std::shared_ptr<http_connection>> now = std::exchange(dirty_, {});
        for (auto& each : now) each->write_dirty();
    }
}

void lane::add_session(std::shared_ptr<legacy_session> s) {
    std::string id = s->id();
    sessions_.emplace(std::move(id), std::move(s));
    arm();
}

std::shared_ptr<legacy_session> lane::find_session(std::string_view id) const {
    auto at = sessions_.find(id);
    return at == sessions_.end() ? nullptr : at->second;
}

void lane::remove_session(std::string_view id) {
    auto at = sessions_.find(id);
    if (at != sessions_.end()) sessions_.erase(at);
}

void lane::let_go() {
    --held_;
    check_ended();
}

void lane::arm() {
    bool watches_files = index == 0 && shared.tls;
    if (timer_ != 0 || ended_ || (connections_.empty() && sessions_.empty() && !watches_files)) return;
    timer_ = loop->start_timer(loop->now() + shared.tick, [this] {
        timer_ = 0;
        tick();
    });
}

void lane::look_at_clock() {
    now_ = loop->now();
    std::time_t t = std::time(nullptr);
    if (t == date_of_) return;
    date_of_ = t;
    std::tm utc{};
    ::gmtime_r(&t, &utc);
    // Not by strftime: names of days and months are English here, whatever the locale.
    constexpr const char* days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    char line[64];
    int size = std::snprintf(line, sizeof line, "Date: %s, %02d %s %04d %02d:%02d:%02d GMT\r\n", days[utc.tm_wday],
                             utc.tm_mday, months[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
    date_.assign(line, static_cast<std::size_t>(size));
}

void lane::tick() {
    look_at_clock();
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
    if (index == 0 && shared.tls) shared.renew_certificate();
    flush_dirty();
    arm();
}

void lane::stop(duration drain) {
    stopping_ = true;
    look_at_clock();
    const limits& bounds = shared.server->core->options.limits;
    final_ = std::min(final_, after(after(after(now_, drain), bounds.cleanup_grace), bounds.final_write));
    std::vector<std::shared_ptr<legacy_session>> sessions;
    for (const auto& [id, s] : sessions_) sessions.push_back(s);
    for (const auto& s : sessions) s->stop(drain);
    std::vector<std::shared_ptr<modern_side>> orphans(orphans_.begin(), orphans_.end());
    for (const auto& s : orphans) {
        if (!s->ended()) s->session().close(drain);
    }
    std::vector<std::shared_ptr<http_connection>> all;
    for (const auto& [key, c] : connections_) all.push_back(c);
    for (const auto& c : all) c->stop(drain);
    check_ended();
}

void lane::check_ended() {
    if (!stopping_ || ended_ || !connections_.empty() || held_ > 0) return;
    ended_ = true;
    loop->stop_timer(std::exchange(timer_, 0));
    // When the turn is over: somebody of ours is still on the stack.
    loop->post([this, all = shared.shared_from_this()] { all->lane_ended(*this); });
}

// ---- the service ----

service::service(keel::server& s, http_options o)
    : options(std::move(o)), server(server_access::of(s)), tick(tick_for(options.limits)) {
    if (options.path.empty() || options.path[0] != '/') {
        throw std::invalid_argument("keel: http_options.path must begin with '/': \"" + options.path + "\"");
    }
    if (options.tls_certificate.empty() != options.tls_key.empty()) {
        throw std::invalid_argument("keel: TLS needs both a certificate and a key");
    }
    if (!options.tls_certificate.empty()) {
        tls = std::make_unique<tls::tls_context>(tls::tls_files{options.tls_certificate, options.tls_key});
    }
    // Refuses entries that are none.
    origins = origin_check({.hosts = options.allow_hosts, .origins = options.allow_origins});
}

service::~service() { join(); }

void service::open(const std::string& address, std::shared_ptr<keel::loop> first, unsigned lanes) {
    // Without a host: this machine alone (HTTP-15).
    bool no_host = address.find_first_not_of("0123456789", address.starts_with(':') ? 1 : 0) == std::string::npos;
    tcp_address where = tcp_address::parse(no_host ? "127.0.0.1:" + address.substr(address.starts_with(':')) : address);
    {
        std::lock_guard lock(mutex_);
        if (stopping_) throw std::runtime_error("keel: the HTTP server was stopped while it started");
    }
    origins = origin_check({.loopback = is_loopback(where),
                            .hosts = options.allow_hosts,
                            .origins = options.allow_origins,
                            .cors = !options.allow_origins.empty()});
    listener_ = transport::listen_tcp_sockets(
        *first, where,
        [weak = weak_from_this()](transport::descriptor socket, std::string name) {
            if (auto self = weak.lock()) self->accepted(std::move(socket), std::move(name));
        },
        std::string(no_room));
    where.port = listener_->port();
    {
        std::lock_guard lock(mutex_);
        url_ = (tls ? "https://" : "http://") + where.text() + options.path;
    }
    try {
        open_lanes(std::move(first), lanes);
    } catch (const std::exception&) {  // nobody may be let in where nobody serves
        listener_->close();
        listener_.reset();
        throw;
    }
}

void service::open_lanes(std::shared_ptr<keel::loop> first, unsigned lanes) {
    std::vector<std::shared_ptr<async::epoll_loop>> own;
    std::vector<std::unique_ptr<lane>> made;
    made.push_back(std::make_unique<lane>(*this, 0, std::move(first)));
    for (unsigned i = 1; i < lanes; ++i) {
        own.push_back(async::epoll_loop::create());
        made.push_back(std::make_unique<lane>(*this, i, own.back()));
    }
    bool stopped = false;
    {
        std::lock_guard lock(mutex_);
        lanes_ = std::move(made);
        lanes_running_ = lanes_.size();
        stopped = stopping_;
    }
    for (const auto& each : own) run_in_thread(each);
    lanes_[0]->arm();
    if (!stopped && server->add_service(shared_from_this())) return;
    stop({});
    throw std::runtime_error("keel: the server is stopping");
}

void service::run_in_thread(const std::shared_ptr<async::epoll_loop>& l) {
    own_loops_.push_back(l);
    threads_.emplace_back([l] {
        l->run();
        l->end();
    });
}

void service::open_in_background(const std::string& address, unsigned lanes) {
    auto first = async::epoll_loop::create();
    run_in_thread(first);
    foreign_first_ = false;
    // What went wrong there, as a value: an exception object is not carried from thread to thread.
    struct failure {
        std::string what = {};
        std::error_code code = {};
    };
    auto opened = std::make_shared<std::promise<failure>>();
    auto future = opened->get_future();
    first->post([this, &address, lanes, first, opened] {
        failure failed;
        try {
            open(address, first, lanes);
        } catch (const std::system_error& e) {
            failed = {"cannot listen on " + address, e.code()};
        } catch (const std::exception& e) {
            failed = {e.what(), {}};
        }
        opened->set_value(std::move(failed));
    });
    failure failed = future.get();
    if (failed.code) throw std::system_error(failed.code, failed.what);
    if (!failed.what.empty()) throw std::runtime_error(failed.what);
}

void service::accepted(transport::descriptor socket, std::string name) {
    if (counters.connections.fetch_add(1) >= options.limits.max_connections) {
        --counters.connections;
        ++counters.refused;
        transport::say_and_close(std::move(socket), no_room);
        return;
    }
    // What the client does not read waits with us, where it is counted, and not by the megabyte in the system.
    int most_unsent = 128 * 1024;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most_unsent, sizeof most_unsent);
    lane& to = *lanes_[next_lane_++ % lanes_.size()];
    if (to.loop->here()) return to.adopt(std::move(socket), name);
    auto held = std::make_shared<transport::descriptor>(std::move(socket));
    to.loop->post([self = shared_from_this(), &to, held, name = std::move(name)] { to.adopt(std::move(*held), name); });
}

void service::stop(duration drain) {
    {
        std::lock_guard lock(mutex_);
        stopping_ = true;
        if (lanes_running_ == 0) return;  // never begun, or over
    }
    for (auto& each : lanes_) {
        auto begin = [self = shared_from_this(), l = each.get(), drain] {
            if (l->index == 0 && self->listener_) self->listener_->close();
            l->stop(drain);
            l->flush_dirty();
        };
        if (each->loop->here()) begin();
        else if (!each->loop->post(begin)) lane_ended(*each);  // a loop of the caller's that is no more
    }
}

void service::lane_ended(lane& which) {
    {
        std::lock_guard lock(mutex_);
        if (std::exchange(which.told_end, true) || --lanes_running_ > 0) return;
    }
    for (auto& each : own_loops_) each->stop();
    changed_.notify_all();
    server->service_ended(this);
}

void service::wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return lanes_running_ == 0; });
}

bool service::wait_for_own() {
    std::unique_lock lock(mutex_);
    if (foreign_first_ && lanes_running_ > 0) return false;
    changed_.wait(lock, [this] { return lanes_running_ == 0; });
    return true;
}

void service::join() {
    for (auto& each : own_loops_) each->stop();
    for (std::thread& each : threads_) {
        if (!each.joinable()) continue;
        if (each.get_id() == std::this_thread::get_id()) each.detach();
        else each.join();
    }
    threads_.clear();
}

bool service::in_own_thread() const noexcept {
    return std::any_of(lanes_.begin(), lanes_.end(), [](const auto& each) { return each->loop->here(); });
}

std::uint64_t service::requests() const noexcept {
    std::uint64_t all = 0;
    for (const auto& each : lanes_) all += each->requests.load(std::memory_order_relaxed);
    return all;
}

std::string service::url() const {
    std::lock_guard lock(mutex_);
    return url_;
}

void service::renew_certificate() {
    try {
        if (tls->reload_if_changed()) server->core->log(log_level::notice, "the certificate was read again");
    } catch (const std::exception& e) {
        server->core->log(log_level::error, std::string("the new certificate cannot be used: ") + e.what());
    }
}

}  // namespace keel::http
