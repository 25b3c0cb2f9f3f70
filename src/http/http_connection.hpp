#pragma once

// The driver of http1_core: one HTTP connection with its socket and the objects that answer its requests.

#include "http/access_record.hpp"
#include "http/answer_watcher.hpp"
#include "http/client_quotas.hpp"
#include "http/http1_core.hpp"
#include "http_common/ip_address.hpp"
#include "rpc/peer.hpp"

#include <keel/connection.hpp>
#include <keel/loop.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace keel::inline KEEL_ABI::http {

class http_worker;
class stateless_handler;

/// Counts an open event stream in the metrics until it is closed or destroyed.
class open_stream_count {
public:
    open_stream_count() = default;
    open_stream_count(const open_stream_count&) = delete;
    open_stream_count& operator=(const open_stream_count&) = delete;
    ~open_stream_count() { close(); }

    void open(std::atomic<std::size_t>& in) noexcept {
        counter_ = &in;
        in.fetch_add(1, std::memory_order_relaxed);
    }
    void close() noexcept {
        if (auto* counter = std::exchange(counter_, nullptr)) counter->fetch_sub(1, std::memory_order_relaxed);
    }

private:
    std::atomic<std::size_t>* counter_ = nullptr;
};

/// Feeds http1_core with events and carries out its actions; router.cpp answers the requests. The core decides
/// everything else. Lives on its worker's loop; owned by the worker.
class http_connection final : public std::enable_shared_from_this<http_connection>,
                              private connection::listener,
                              public rpc::input_holder {
public:
    /// `peer`: the other end of the connection; none for a Unix socket. `use`: where the connection is counted; empty behind a trusted proxy.
    http_connection(keel::http::http_worker& l, std::unique_ptr<connection> wire, const ip_address& peer,
                    bool monitor = false, counted_use use = {});
    ~http_connection();

    void start();
    /// The server stops: idle connections close now, the others when their response is complete. Running requests have
    /// `drain` to complete.
    void stop(duration drain);
    /// The response to the current request, if there is one, is the last.
    void retire();
    void close();
    /// Call about once a second: enforces the timeouts.
    void check_time(time_point now);

    // ---- the response to the current request ----

    /// `from` completes the response later. It is kept until then, and told what happens to the client.
    void expect_answer(std::shared_ptr<answer_watcher> from) noexcept;
    bool answering() const noexcept { return core_.answering(); }
    bool streaming() const noexcept { return core_.streaming(); }

    /// `headers` are whole lines. Ignored if there is no request to respond to.
    void respond(int status, std::string_view content_type, std::string_view body, std::string_view headers = {});
    /// Append the body to the returned string, then call end_json.
    std::string& begin_json(int status, std::string_view headers = {}, std::size_t size = 0);
    void end_json();

    // rpc::input_holder
    void release_input() override;
    /// This object if the body of the current request is large, otherwise null.
    rpc::input_holder* large_input() noexcept {
        return core_.current().body.size() >= rpc::peer::large_input ? this : nullptr;
    }

    void open_stream(std::string_view headers = {});
    /// Append whole events to the returned string, then call end_events.
    std::string& begin_events() {
        if (access_) access_->before_output(core_.waiting());
        return core_.begin_events();
    }
    void end_events();
    void end_stream();

    /// What a connection needs with three small buffers.
    static constexpr std::size_t base_memory = 3 * http1_core::small_buffer + 4 * 1024;
    /// Memory of its buffers, as reported to the budget of the server.
    std::size_t memory() const noexcept { return memory_; }
    /// Bytes that the client has not taken yet.
    std::size_t waiting() const noexcept { return core_.waiting(); }
    /// Writes the queued output at the end of the turn.
    void flush();
    void write_dirty();

    keel::http::http_worker& worker() const noexcept { return worker_; }
    const request& current() const noexcept { return core_.current(); }
    /// The body of the current request if it is in memory of this connection; otherwise empty.
    std::span<char> kept_body() noexcept { return core_.kept_body(); }
    /// True for a connection to the monitor address, which serves only the pages for monitoring.
    bool monitor() const noexcept { return monitor_; }
    /// Serves requests of 2026-07-28 on this connection; null until the first one.
    std::shared_ptr<stateless_handler>& modern() noexcept { return modern_; }
    std::shared_ptr<stateless_handler>& stateless() noexcept { return stateless_; }
    /// The last Host header that was accepted: requests on one connection usually repeat it.
    std::string& trusted_host() noexcept { return trusted_host_; }
    /// What is known of the current request since its head was checked.
    struct admission {
        bool by_head = false;                               // it was checked before its body arrived
        std::shared_ptr<const std::string> principal = {};  // null: there is no `identify` hook
        ip_address client = {};                             // see client()
    };
    admission& admitted() noexcept { return admitted_; }
    const admission& admitted() const noexcept { return admitted_; }
    /// The entry of the current request in the access log; null if there is no access log.
    access_record* access() noexcept { return access_.get(); }
    const ip_address& peer() const noexcept { return peer_; }
    /// The client of the current request: `peer`, or the address that a trusted proxy has forwarded. None for a Unix socket.
    const ip_address& client() const noexcept { return admitted_.client.present() ? admitted_.client : peer_; }
    /// Counts the connection for the client of the current request, whose principal is known now. Returns false if that client has too
    /// many connections.
    bool count_for_client();
    /// The client that the connection is counted for.
    client_pair counted_client() const noexcept { return {address_use_.of(), principal_use_.of()}; }
    /// Header lines for every response to the current request (CORS).
    std::string& common_headers() noexcept { return common_headers_; }

private:
    /// Where the queued output is going to be written.
    enum class write_plan : unsigned char {
        none,
        listed,   // the worker calls write_dirty() at the end of the turn
        running,  // run() is on the stack and writes before it returns
    };

    void on_input(std::string_view bytes) override;
    std::span<char> input_room() override { return core_.input_room(); }
    void on_input_end() override;
    void on_failure(std::string_view cause) override;
    void on_writable() override;
    void on_continue();

    void run();
    void carry_out(http1_core::action what);
    template <class F>
    void on_wire(F f);
    template <class F>
    void contain(F f);
    void failed(const char* what);
    void close_sides();
    void prepare_response(int status);
    void response_completed();
    /// Calls `write`, which adds output, and counts its bytes for the access log.
    template <class F>
    void counted(F write);
    void end_access();
    void report_memory();
    time_point now() const noexcept;

    keel::http::http_worker& worker_;
    std::unique_ptr<connection> wire_;
    http1_core core_;
    std::shared_ptr<answer_watcher> watcher_;  // null unless the core has a responder
    std::shared_ptr<stateless_handler> modern_;
    std::shared_ptr<stateless_handler> stateless_;
    admission admitted_;
    std::unique_ptr<access_record> access_;  // null: there is no access log
    std::string common_headers_;
    std::string trusted_host_;
    open_stream_count stream_count_;
    std::size_t memory_ = 0;
    const ip_address peer_;
    counted_use address_use_;
    counted_use principal_use_;
    const bool behind_proxy_;
    const bool monitor_;
    bool reading_request_ = false;  // current() is valid
    write_plan plan_ = write_plan::none;
};

}  // namespace keel::http
