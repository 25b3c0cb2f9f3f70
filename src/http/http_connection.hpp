#pragma once

// One socket of an HTTP client: its requests, one after the other, and their answers.

#include "http/request_reader.hpp"
#include "http/watcher.hpp"

#include <keel/connection.hpp>
#include <keel/loop.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http {

class lane;
class modern_side;

/// A request is handed to whoever answers it (router.cpp); the next one is read when that answer is complete, so
/// pipelined requests are answered in order. Lives on its lane's loop; owned by the lane.
class http_connection final : public std::enable_shared_from_this<http_connection>, private connection::listener {
public:
    http_connection(keel::http::lane& l, std::unique_ptr<connection> wire);
    ~http_connection();

    void start();
    /// The server stops: idle connections close now, the others when their answer is complete, for which they have `drain`.
    void stop(duration drain);
    /// This answer, if there is one to come, is the last.
    void retire();
    void close();
    /// About once a second: what has taken too long?
    void check_time(time_point now);

    // ---- the answer to the request at hand ----

    /// Somebody answers later and is told meanwhile. It stays until the answer is complete.
    void expect_answer(std::shared_ptr<answer_watcher> from) noexcept { watcher_ = std::move(from); }
    bool answering() const noexcept { return step_ == step::pending || step_ == step::streaming; }
    bool streaming() const noexcept { return step_ == step::streaming; }

    /// `headers` are whole lines.
    void respond(int status, std::string_view content_type, std::string_view body, std::string_view headers = {});
    /// Append the body to what is returned; then end_json.
    std::string& begin_json(int status, std::string_view headers = {});
    void end_json();

    void open_stream(std::string_view headers = {});
    /// Append whole events to what is returned; then end_events.
    std::string& begin_events();
    void end_events();
    void end_stream();

    /// Bytes the client has not taken yet.
    std::size_t waiting() const noexcept { return out_.size() - written_; }
    /// What is queued is written at the end of the turn.
    void flush();
    void write_dirty();

    keel::http::lane& lane() noexcept { return lane_; }
    const request& current() const noexcept { return reader_.get(); }
    /// Whoever serves 2026-07-28 here; made when first needed.
    std::shared_ptr<modern_side>& modern() noexcept { return modern_; }
    std::shared_ptr<modern_side>& stateless() noexcept { return stateless_; }
    /// The Host that was found fine last: requests of one connection name the same again and again.
    std::string& trusted_host() noexcept { return trusted_host_; }
    /// Headers for every answer to the request at hand: CORS.
    std::string& common_headers() noexcept { return common_headers_; }

private:
    enum class step : unsigned char { reading, pending, streaming, closed };

    void on_input(std::string_view bytes) override;
    void on_input_end() override;
    void on_failure(std::string_view cause) override;
    void on_writable() override;

    void take(std::string_view bytes, bool is_pending);
    bool has_pending() const noexcept { return pending_at_ < pending_.size(); }
    void handle_contained();
    void failed(const char* what);
    template <class F>
    bool on_wire(F f);
    void close_sides();
    void go_on();
    void go_on_soon();
    bool full() const noexcept;
    void refuse(int status, const char* reason);
    bool stays_open();
    void answered();
    void write_out();
    void fail();
    void set_deadline(duration d) noexcept;
    void tell_gone();

    keel::http::lane& lane_;
    std::unique_ptr<connection> wire_;
    request_reader reader_;
    std::shared_ptr<answer_watcher> watcher_;
    std::shared_ptr<modern_side> modern_;
    std::shared_ptr<modern_side> stateless_;

    std::string out_;
    std::size_t written_ = 0;
    std::size_t slot_ = 0;        // where the length of what is being written belongs
    std::string pending_;         // what has come behind the request that is being answered
    std::size_t pending_at_ = 0;  // how much of it has been looked at
    std::string common_headers_;
    std::string trusted_host_;

    time_point deadline_ = time_point::max();        // of what is being read, or of the next request
    time_point stall_deadline_ = time_point::max();  // for the client to take something
    time_point quiet_since_{};
    step step_ = step::reading;
    bool handling_ = false;  // in handle: the request may not be forgotten yet
    bool lingers_ = false;   // it was refused: what still comes is thrown away
    bool taking_ = false;    // in take: what is written now goes out together at its end
    bool dirty_ = false;     // on the lane's list of those to flush
    bool blocked_ = false;
    bool paused_ = false;
    bool chunked_ = false;
    bool keep_alive_ = true;  // the client wants to
    bool head_only_ = false;
    unsigned minor_ = 1;  // of the request at hand: HTTP/1.minor
    bool input_ended_ = false;
    bool close_after_ = false;  // this answer is the last
    bool retired_ = false;
    bool head_done_ = false;  // of the request being read
};

}  // namespace keel::http
