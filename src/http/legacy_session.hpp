#pragma once

// An HTTP session of a client of revisions up to 2025-11-25, with its streams. It outlives connections.

#include "http/event_log.hpp"
#include "http/exchange.hpp"
#include "http/tenant_servers.hpp"
#include "http/unused_sessions.hpp"
#include "protocol/revision.hpp"
#include "rpc/message.hpp"
#include "rpc/message_sink.hpp"
#include "server/server_session.hpp"

#include <keel/http_server.hpp>

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace keel::inline KEEL_ABI::http {

class http_worker;

/// The error code that other servers of these revisions use.
inline constexpr int session_not_found = -32001;

/// Lives on its worker's loop. Owned by the worker, and by its server_session until that has ended.
class legacy_session final : public rpc::message_sink,
                             private rpc::stream_control,
                             public exchange_user,
                             public std::enable_shared_from_this<legacy_session> {
public:
    /// `one_stream`: all messages go to one stream, which ends with the session (HTTP+SSE transport of 2024-11-05).
    /// `by` is the server of this session. `use`: where the session is counted; its calls are counted for the same client.
    static std::shared_ptr<legacy_session> create(http_worker& l, std::shared_ptr<const tenant> by, std::string id,
                                                  std::string credential, counted_pair use, bool one_stream = false);
    legacy_session(http_worker& l, std::shared_ptr<const tenant> by, std::string id, std::string credential,
                   counted_pair use, bool one_stream);
    ~legacy_session() override = default;

    const std::string& id() const noexcept { return id_; }
    /// A session may be used only with the credential that created it (H2).
    bool belongs_to(std::string_view credential) const noexcept { return credential == credential_; }
    bool is_old_transport() const noexcept { return one_stream_; }
    server_side::server_session& session() noexcept { return *session_; }
    bool ended() const noexcept { return !session_; }
    const tenant& by() const noexcept { return *by_; }

    /// Handles `initialize`, the first message, and answers it. Returns true if it succeeded.
    bool open(const rpc::message& message, std::shared_ptr<exchange> ex);
    /// Handles a POST with one message, or a batch (2025-03-26). The messages must be valid.
    void post(std::span<const rpc::message> messages, bool batch, std::shared_ptr<exchange> ex);
    /// Opens a stream for messages that belong to no request, or resumes a stream after `last_event` if that is not empty.
    void listen(std::string_view last_event, std::shared_ptr<exchange> ex);
    /// Opens the stream of the HTTP+SSE transport of 2024-11-05.
    void listen_old(std::string_view message_path, std::shared_ptr<exchange> ex);
    /// Ends the session (DELETE or expiry, H3): ends open streams, answers pending requests with an error, cancels handlers.
    void end(const char* why);
    /// Graceful shutdown: running calls may take `drain`, then all are answered.
    void stop(duration drain);
    /// Call it before any other function for a message of the client. Returns false if the session has been chosen to end because its
    /// client had not returned since `initialize`.
    bool client_returns();
    /// How many more calls the quota of the client allows.
    std::size_t client_room() const noexcept;
    /// The bytes of its stored events, and a way to free some of them.
    std::size_t stored_bytes() const noexcept { return log_.bytes(); }
    void evict_oldest_event() { log_.evict_oldest(); }
    /// Returns true if the session has been idle for longer than the limit (H14). Also deletes expired streams.
    bool check_idle(time_point now);

private:
    using revision = protocol::revision;

    /// The messages for one POST, or those that belong to no request.
    struct stream {
        std::shared_ptr<exchange> at;  // null: not connected
        bool open = false;             // an event stream was opened at least once
        bool general = false;          // for messages that belong to no request
        bool has_id = false;           // the client has an event id and can resume
        bool json_only = false;
        bool batch = false;
        rpc::request_id id;          // of the request, unless it is a batch
        std::size_t unanswered = 0;  // number of requests
        std::uint64_t replayed = 0;  // a resumed stream: the last stored event that was sent; 0: none is missing
        std::vector<std::shared_ptr<const budgeted_text>> answers;  // of a batch with a JSON response
        time_point ended = time_point::max();
    };

    // rpc::message_sink
    std::string& begin(const rpc::outgoing_message& about) override;
    void end(const rpc::outgoing_message& about) override;
    std::size_t queued_bytes(rpc::stream_id on) const noexcept override;
    void flush(time_point now) override;
    rpc::stream_control* streams() noexcept override { return this; }

    // rpc::stream_control
    bool may_send_request(rpc::stream_id on) const noexcept override;
    void on_unanswered(rpc::stream_id on, const rpc::request_id& id) override;
    void release(rpc::stream_id on, duration retry) override;

    // exchange_user
    void on_exchange_gone(std::uint64_t tag) override;
    void on_exchange_drained(std::uint64_t tag) override;
    void on_exchange_quiet(std::uint64_t tag) override;

    bool has_ids() const noexcept;
    /// Messages that belong to no request go to the newest stream for these.
    rpc::stream_id place_of(rpc::stream_id on) const noexcept { return on == 0 || one_stream_ ? general_ : on; }
    stream* find(rpc::stream_id on) noexcept;
    const stream* find(rpc::stream_id on) const noexcept;
    void be_newest(rpc::stream_id on);
    void has_ended(rpc::stream_id on, stream& s);
    void open_stream(rpc::stream_id on, stream& s);
    void say(rpc::stream_id on, stream& s, std::string_view text);
    void answer(rpc::stream_id on, stream& s, std::string_view text);
    std::string* begin_direct(const rpc::outgoing_message& about);
    std::string answer_headers() const;
    void request_done(rpc::stream_id on, stream& s);
    void end_stream(rpc::stream_id on, stream& s);
    void resume(const event_log::position& from, std::shared_ptr<exchange> ex);
    void replay(rpc::stream_id on, stream& s);
    void erase(rpc::stream_id on);
    void touch() noexcept;
    void on_session_ended();
    std::string session_header() const { return "Mcp-Session-Id: " + id_ + "\r\n"; }

    http_worker& worker_;
    const std::shared_ptr<const tenant> by_;
    const std::string id_;
    const std::string credential_;
    const bool one_stream_;
    std::shared_ptr<server_side::server_session> session_;
    event_log log_;
    std::unordered_map<rpc::stream_id, stream> streams_;
    rpc::stream_id general_ = 0;        // the stream for messages that belong to no request; 0: none
    std::deque<rpc::stream_id> ended_;  // ended streams that can still be resumed, the oldest first
    std::deque<rpc::stream_id> older_;  // former `general_` streams that are still open; nothing is sent on them (H12)
    std::string text_;                  // of the message being written
    bool direct_ = false;               // it is being written to the buffer of its connection
    std::string events_;
    rpc::stream_id next_stream_ = 1;
    time_point used_;
    counted_pair use_;
    counted_calls calls_;
    unused_sessions::place unused_ = 0;  // 0: the client has sent something since `initialize`
    bool opening_ = false;
    bool ending_ = false;
};

}  // namespace keel::http
