#pragma once

// An HTTP server at work: its lanes (a loop each, with the connections and sessions that live on it) and what they share.

#include "async/epoll_loop.hpp"
#include "async/reactor.hpp"
#include "http/origin_check.hpp"
#include "server/offers.hpp"
#include "server/registry.hpp"
#include "server/server_impl.hpp"
#include "tls/tls_context.hpp"
#include "transport/descriptor.hpp"

#include <keel/http_server.hpp>
#include <keel/json.hpp>

#include <atomic>
#include <condition_variable>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace keel::inline KEEL_ABI::http {

class http_connection;
class legacy_session;
class modern_side;
class service;

/// What happened, for the metrics.
struct http_counters {
    std::atomic<std::size_t> connections{0};
    std::atomic<std::size_t> sessions{0};
    std::atomic<std::size_t> streams{0};
    std::atomic<std::uint64_t> refused{0};        // answered 4xx or 5xx by the rules of HTTP
    std::atomic<std::uint64_t> undeliverable{0};  // answers whose client had gone, and that nobody can fetch
};

/// Everything on one loop.
class lane {
public:
    lane(service& s, unsigned index, std::shared_ptr<keel::loop> on);
    ~lane();
    lane(const lane&) = delete;
    lane& operator=(const lane&) = delete;

    /// A socket of ours now. On the loop.
    void adopt(transport::descriptor socket, const std::string& name);
    void adopt(std::unique_ptr<connection> wire);
    void remove(http_connection* c);
    /// To be written at the end of the turn.
    void add_dirty(std::shared_ptr<http_connection> c) { dirty_.push_back(std::move(c)); }
    void flush_dirty();

    void add_session(std::shared_ptr<legacy_session> s);
    std::shared_ptr<legacy_session> find_session(std::string_view id) const;
    void remove_session(std::string_view id);
    // Of everything that keeps this lane alive: each session, from its beginning to the end of the last of its handlers.
    void hold() noexcept { ++held_; }
    void let_go();
    // Sessions whose client has left, and whose calls go on (H6): nobody else knows them when it is time to stop.
    void add_orphan(std::shared_ptr<modern_side> s) { orphans_.insert(std::move(s)); }
    void remove_orphan(const std::shared_ptr<modern_side>& s) { orphans_.erase(s); }

    /// Running calls get `drain`; what is left of connections then is cut off within the bounds. Again: can only be sooner.
    void stop(duration drain);
    /// Looks at the time now and then, as long as there is something to look at.
    void arm();
    bool stopping() const noexcept { return stopping_; }
    /// Right to within a tick; costs nothing.
    time_point coarse_now() const noexcept { return now_; }
    /// The header Date, as a line.
    std::string_view date_line() const noexcept { return date_; }

    service& shared;
    const unsigned index;
    const std::shared_ptr<keel::loop> loop;
    /// Counted by this lane alone, read by anybody.
    std::atomic<std::uint64_t> requests{0};
    void count_request() noexcept {
        requests.store(requests.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    bool told_end = false;    // the service knows
    json::document document;  // of the message that is being handled
    server_side::view<server_side::tool> tools;

private:
    struct text_hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    void tick();
    void look_at_clock();
    void check_ended();

    std::unordered_map<http_connection*, std::shared_ptr<http_connection>> connections_;
    std::unordered_map<std::string, std::shared_ptr<legacy_session>, text_hash, std::equal_to<>> sessions_;
    std::vector<std::shared_ptr<http_connection>> dirty_;
    time_point now_{};
    std::string date_;
    std::time_t date_of_ = 0;
    time_point final_ = time_point::max();
    keel::loop::timer timer_ = 0;
    std::size_t held_ = 0;
    std::unordered_set<std::shared_ptr<modern_side>> orphans_;
    bool stopping_ = false;
    bool ended_ = false;
};

/// Shared by the http_server and its lanes. Everything in it that changes is atomic, or belongs to one thread.
class service final : public keel::service, public std::enable_shared_from_this<service> {
public:
    service(keel::server& s, http_options o);
    ~service() override;

    /// Throws when the address cannot be used. `first` is the loop of the first lane; its thread calls this. Further lanes get
    /// threads of their own.
    void open(const std::string& address, std::shared_ptr<keel::loop> first, unsigned lanes);
    /// Without listening: connections are given to the lanes by whoever calls this.
    void open_lanes(std::shared_ptr<keel::loop> first, unsigned lanes);
    /// The same with a thread of our own for the first lane too. Any thread.
    void open_in_background(const std::string& address, unsigned lanes);
    void stop(duration drain) override;
    /// Until everything has ended.
    void wait();
    /// The same, unless some of it is on a loop of the caller's: false then, at once.
    bool wait_for_own();
    /// Threads of our own, once they have nothing left to do.
    void join();
    /// It is done.
    void lane_ended(lane& which);

    lane& lane_of(unsigned index) { return *lanes_[index]; }
    std::size_t lanes() const noexcept { return lanes_.size(); }
    std::uint64_t requests() const noexcept;
    std::string url() const;
    bool in_own_thread() const noexcept;
    /// Now and then: has the file changed?
    void renew_certificate();

    const http_options options;
    const std::shared_ptr<server_access::impl> server;
    http_counters counters;
    origin_check origins;
    std::unique_ptr<tls::tls_context> tls;
    const duration tick;

private:
    void run_in_thread(const std::shared_ptr<async::epoll_loop>& l);
    void accepted(transport::descriptor socket, std::string name);

    std::vector<std::unique_ptr<lane>> lanes_;
    std::vector<std::shared_ptr<async::epoll_loop>> own_loops_;
    std::vector<std::thread> threads_;
    std::unique_ptr<listener> listener_;
    std::size_t next_lane_ = 0;
    bool foreign_first_ = true;  // the first lane's loop is the caller's

    mutable std::mutex mutex_;  // whoever starts, stops and waits
    std::condition_variable changed_;
    std::string url_;
    std::size_t lanes_running_ = 0;
    bool stopping_ = false;
};

}  // namespace keel::http
