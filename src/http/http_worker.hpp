#pragma once

// One event loop of an HTTP server, with the connections and sessions that live on it. Not a thread of the pool that runs
// blocking handlers (see server_core::workers).

#include "http/client_quotas.hpp"
#include "http_common/ip_address.hpp"
#include "server/offers.hpp"
#include "server/registry.hpp"
#include "transport/descriptor.hpp"

#include <keel/connection.hpp>
#include <keel/json.hpp>
#include <keel/loop.hpp>

#include <atomic>
#include <ctime>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace keel::inline KEEL_ABI::http {

class http_connection;
class http_server_core;
class legacy_session;
class stateless_handler;

/// All functions must be called on the worker's loop.
class http_worker {
public:
    http_worker(http_server_core& s, unsigned index, std::shared_ptr<keel::loop> on);
    ~http_worker();
    http_worker(const http_worker&) = delete;
    http_worker& operator=(const http_worker&) = delete;

    /// Takes ownership of a connected socket and serves it.
    /// `monitor`: it came to the monitor address.
    void adopt(transport::descriptor socket, const std::string& name, bool monitor);
    /// `peer`: the other end of the connection, if it has an IP address.
    void adopt(std::unique_ptr<connection> wire, const ip_address& peer = {}, bool monitor = false,
               counted_use use = {});
    /// Without TLS: a request of the program's own HTTP server.
    void adopt_mounted(std::unique_ptr<connection> wire, const ip_address& peer, counted_use use);
    /// Counts a connection for the client at `peer`. Returns false if that client has too many. A trusted proxy serves many clients, which
    /// http_connection::count_for_client counts.
    bool count_connection(const ip_address& peer, counted_use& use);
    void remove(http_connection* c);
    /// Writes the output of `c` at the end of the turn.
    void add_dirty(std::shared_ptr<http_connection> c) { dirty_.push_back(std::move(c)); }
    void flush_dirty();

    /// The memory budget is exceeded: evicts stored events, then closes the connections with the most unread output, then those with the
    /// largest buffers, until it is not. Other workers are asked if that is not enough.
    void relieve();

    void add_session(std::shared_ptr<legacy_session> s);
    std::shared_ptr<legacy_session> find_session(std::string_view id) const;
    void remove_session(std::string_view id);
    // Keeps the worker alive. Each session holds it until its last handler has ended.
    void hold() noexcept { ++held_; }
    void let_go();
    // Handlers whose client has disconnected while its calls continue (H6): no connection refers to them, so the worker closes
    // them at shutdown.
    void add_orphan(std::shared_ptr<stateless_handler> s) { orphans_.insert(std::move(s)); }
    void remove_orphan(const std::shared_ptr<stateless_handler>& s) { orphans_.erase(s); }

    /// Gracefully shuts down: running calls may take `drain`; connections that are left are closed after the limits
    /// `cleanup_grace` and `final_write`. A second call can only shorten these times.
    void stop(duration drain);
    /// Starts the timer that checks timeouts, if there is a connection, a session or a certificate to check.
    void arm();
    bool stopping() const noexcept { return stopping_; }
    /// The time of the last tick. Costs no system call.
    time_point coarse_now() const noexcept { return now_; }
    /// The Date header as a complete line.
    std::string_view date_line() const noexcept { return date_; }

    http_server_core& shared;
    const unsigned index;
    const std::shared_ptr<keel::loop> loop;
    /// Written by this worker only; may be read from any thread.
    std::atomic<std::uint64_t> requests{0};
    void count_request() noexcept {
        requests.store(requests.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    bool end_reported = false;  // guarded by http_server_core's mutex
    json::document document;    // of the message that is being handled
    server_side::view<server_side::tool> tools;

private:
    struct text_hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    void begin(std::unique_ptr<connection> wire, const ip_address& peer, bool monitor, counted_use use);
    void tick();
    void update_clock();
    void evict_events();
    template <class Size>
    void close_largest(Size size);
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
    std::unordered_set<std::shared_ptr<stateless_handler>> orphans_;
    bool stopping_ = false;
    bool ended_ = false;
    bool relieving_ = false;
    std::atomic<bool> asked_to_relieve_{false};  // set by other workers
};

}  // namespace keel::http
