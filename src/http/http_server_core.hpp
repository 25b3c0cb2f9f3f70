#pragma once

// The implementation of http_server: the listener, the workers, and what the workers share.

#include "async/epoll_loop.hpp"
#include "http/http_worker.hpp"
#include "http/memory_budget.hpp"
#include "http/origin_check.hpp"
#include "http/tenant_servers.hpp"
#include "http/unused_sessions.hpp"
#include "http_common/forwarded.hpp"
#include "server/server_impl.hpp"
#include "tls/tls_context.hpp"
#include "transport/descriptor.hpp"
#include "transport/listen_address.hpp"

#include <keel/http_server.hpp>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace keel::inline KEEL_ABI::http {

class mounted_handle;

/// Values for the metrics page.
struct http_counters {
    std::atomic<std::size_t> connections{0};
    std::atomic<std::size_t> sessions{0};
    std::atomic<std::size_t> streams{0};
    std::atomic<std::uint64_t> refused{0};            // responses with status 4xx or 5xx
    std::atomic<std::uint64_t> closed_for_memory{0};  // connections closed because the memory budget was exceeded
    std::atomic<std::uint64_t> undeliverable{
        0};  // responses that were lost because the client had disconnected and cannot resume
};

/// Shared by the http_server and its workers. Mutable members are atomic, guarded by the mutex, or used by one thread only.
class http_server_core final : public keel::server_transport, public std::enable_shared_from_this<http_server_core> {
public:
    http_server_core(std::shared_ptr<server_access::impl> s, http_options o);
    ~http_server_core() override;

    /// Listens on `address`. Throws std::system_error if that fails. `first` is the loop of the first worker, and must be
    /// called on its thread; the other workers get their own threads.
    void open(const std::string& address, std::shared_ptr<keel::loop> first, unsigned workers);
    /// Starts the workers without a listener: the caller passes connections to http_worker::adopt.
    void open_workers(std::shared_ptr<keel::loop> first, unsigned workers);
    /// Like `open`, without an address: for requests that the program passes to `handle`.
    void open_mounted(std::shared_ptr<keel::loop> first, unsigned workers);
    /// Runs `open` with an own thread for the first worker too. Safe to call from any thread.
    void open_in_background(const std::string& address, unsigned workers);
    void open_mounted_in_background(unsigned workers);
    /// Serves a request of the program's own HTTP server. Safe to call from any thread.
    std::shared_ptr<mounted_call> handle(const mounted_request& r, std::shared_ptr<mounted_response> to);
    /// The number of workers that the options ask for.
    unsigned wanted_workers() const;
    /// Begins to drain at once.
    void stop(duration drain) override;
    /// Like `stop`, after http_options::unready_time. Safe to call from any thread.
    void stop_after_notice(duration drain);
    void wait_and_join() override;
    /// Blocks until all workers have ended.
    void wait();
    /// Like `wait`, but returns false at once if the first worker runs on the caller's loop and has not ended.
    bool wait_for_own();
    /// Joins our own threads. Call it after all workers have ended.
    void join();
    void worker_ended(http_worker& which);

    http_worker& worker_of(unsigned index) { return *workers_[index]; }
    std::size_t workers() const noexcept { return workers_.size(); }
    std::uint64_t requests() const noexcept;
    std::string url() const;
    std::string monitor_url() const;
    bool in_own_thread() const noexcept;
    /// Null if the text is large and exceeds the memory budget.
    std::shared_ptr<const budgeted_text> keep(std::string_view text);
    /// Reloads the TLS certificate if its file has changed.
    void renew_certificate();

    std::atomic<bool> ready{true};  // the answer of the ready page
    const http_options options;
    const std::shared_ptr<server_access::impl> server;
    http_counters counters;
    tenant_servers tenants;
    memory_budget budget;
    origin_check origins;
    trusted_proxies proxies;
    client_quotas quotas;
    unused_sessions unused;
    std::unique_ptr<tls::tls_context> tls;
    const duration tick;

private:
    /// Called with the lock.
    bool all_ended() const noexcept { return workers_running_ == 0 && !releasing_; }
    /// Called on the loop of `on`.
    void serve_mounted(http_worker& on, std::string text, std::shared_ptr<mounted_response> to,
                       std::shared_ptr<mounted_handle> call, const ip_address& client);
    void open_on_own_thread(const std::string& what, std::function<void(std::shared_ptr<keel::loop>)> open);
    void run_in_thread(const std::shared_ptr<async::epoll_loop>& l);
    /// Throws std::invalid_argument if the address is malformed or must not be used.
    transport::listen_address check_address(const std::string& address, bool monitor) const;
    std::unique_ptr<listener> listener_at(keel::loop& on, const transport::listen_address& where, bool monitor);
    void listen(keel::loop& on, const std::string& address, bool monitor);
    void accepted(transport::descriptor socket, std::string name, bool monitor);

    std::vector<std::unique_ptr<http_worker>> workers_;
    std::vector<std::shared_ptr<async::epoll_loop>> own_loops_;
    std::vector<std::thread> threads_;
    std::vector<std::unique_ptr<listener>> listeners_;
    std::size_t next_worker_ = 0;
    std::atomic<std::size_t> next_mounted_{0};  // used by all threads of the program
    bool foreign_first_ = true;                 // the first worker runs on the caller's loop

    mutable std::mutex mutex_;  // guards the members below and the start of `workers_`
    std::condition_variable changed_;
    std::string url_;
    std::string monitor_url_;
    std::size_t workers_running_ = 0;
    bool releasing_ = false;  // all workers have ended; the last one releases the servers of tenants
    bool stopping_ = false;
    bool notice_given_ = false;  // stop_after_notice was called
};

}  // namespace keel::http
