#pragma once

// One client of a revision up to 2025-11-25 over HTTP: a session that outlives its connections, and its streams.

#include "http/event_log.hpp"
#include "http/exchange.hpp"
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

/// Lives on its worker's loop; owned by the worker, and by its server session until that has ended.
class legacy_session final : public rpc::message_sink,
                             private rpc::stream_control,
                             public exchange_user,
                             public std::enable_shared_from_this<legacy_session> {
public:
    /// `one_stream`: everything goes to one stream that ends with the session (the transport of 2024-11-05).
    static std::shared_ptr<legacy_session> create(http_worker& l, std::string id, std::string credential,
                                                  bool one_stream = false);
    legacy_session(http_worker& l, std::string id, std::string credential, bool one_stream);
    ~legacy_session() override = default;

    const std::string& id() const noexcept { return id_; }
    /// A session belongs to who has opened it (H2).
    bool belongs_to(std::string_view credential) const noexcept { return credential == credential_; }
    server_side::server_session& session() noexcept { return *session_; }
    bool ended() const noexcept { return !session_; }

    /// `initialize`, the first message: true when it has succeeded. Either way it is answered.
    bool open(const rpc::message& message, std::shared_ptr<exchange> ex);
    /// What a client posts: one message, or several (2025-03-26). They have been found well formed.
    void post(std::span<const rpc::message> messages, bool batch, std::shared_ptr<exchange> ex);
    /// A stream for what belongs to no request; or the rest of one that was cut off. `last_event` is empty for the first.
    void listen(std::string_view last_event, std::shared_ptr<exchange> ex);
    /// The one stream of the transport of 2024-11-05.
    void listen_old(std::string_view message_path, std::shared_ptr<exchange> ex);
    /// H3: DELETE, or expiry. Open streams end, pending requests are told, handlers are cancelled.
    void end(const char* why);
    /// The server stops: running calls get `drain`, then everything is answered and ends.
    void stop(duration drain);
    /// True when nobody has used it for too long (H14). Also lets go of streams that have ended a while ago.
    bool check_idle(time_point now);

private:
    using revision = protocol::revision;

    /// What one POST, or the client in general, hears.
    struct stream {
        std::shared_ptr<exchange> at;  // null: nobody listens at the moment
        bool open = false;             // as an event stream, at least once
        bool general = false;          // it carries what belongs to no request
        bool has_id = false;           // the client got an event with an id, and may come back for more
        bool json_only = false;
        bool batch = false;
        rpc::request_id id;                // of the request, if it is one alone
        std::size_t unanswered = 0;        // requests
        std::vector<std::string> answers;  // of a batch that is answered as JSON
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
    void on_exchange_drained() override;
    void on_exchange_quiet(std::uint64_t tag) override;

    bool has_ids() const noexcept;
    /// What belongs to no request goes to the newest stream that was opened for it.
    rpc::stream_id place_of(rpc::stream_id on) const noexcept { return on == 0 || one_stream_ ? general_ : on; }
    stream* find(rpc::stream_id on) noexcept;
    const stream* find(rpc::stream_id on) const noexcept;
    void be_newest(rpc::stream_id on);
    void has_ended(rpc::stream_id on, stream& s);
    void open_stream(rpc::stream_id on, stream& s);
    void say(rpc::stream_id on, stream& s, std::string_view text);
    void answer(rpc::stream_id on, stream& s, std::string_view text);
    void request_done(rpc::stream_id on, stream& s);
    void end_stream(rpc::stream_id on, stream& s);
    void resume(const event_log::position& from, std::shared_ptr<exchange> ex);
    void touch() noexcept;
    void on_session_ended();
    std::string session_header() const { return "Mcp-Session-Id: " + id_ + "\r\n"; }

    http_worker& worker_;
    const std::string id_;
    const std::string credential_;
    const bool one_stream_;
    std::shared_ptr<server_side::server_session> session_;
    event_log log_;
    std::unordered_map<rpc::stream_id, stream> streams_;
    rpc::stream_id general_ = 0;        // the one for what belongs to no request; 0: there was none yet
    std::deque<rpc::stream_id> ended_;  // streams that can still be fetched, the oldest first
    std::deque<rpc::stream_id> older_;  // such streams that were opened before: open, and silent (H12)
    std::string text_;                  // of the message being written
    std::string events_;
    rpc::stream_id next_stream_ = 1;
    time_point used_;
    bool opening_ = false;
    bool ending_ = false;
};

}  // namespace keel::http
