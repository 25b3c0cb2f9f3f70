#pragma once

// The output of a peer: the one interface through which peer_core sends its messages. What only some sinks can do (withdraw unsent
// messages, control streams, wait for a slow reader) is in small interfaces of its own, which a sink offers or not.
//
// Implementations: byte_stream_sink (stdio, sockets), http::stateless_handler and http::legacy_session (HTTP server),
// http_client::message_outbox (HTTP client).

#include "rpc/request_id.hpp"

#include <keel/loop.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::rpc {

/// Identity of a request received or sent; 0 is invalid. The JSON-RPC id is only an index entry that points to it.
using serial = std::uint64_t;

/// A stream on which the peer receives messages. A byte stream has only stream 0. Over HTTP each request has its own stream, and
/// stream 0 is for messages that belong to no request.
using stream_id = std::uint64_t;

/// Names and values that the caller of a request adds for the transport. A byte stream ignores them.
using message_attributes = std::vector<std::pair<std::string, std::string>>;

/// Describes a message that is being sent, for sinks that route or withdraw messages. Pointers and views are valid during the call.
struct outgoing_message {
    enum class kind : unsigned char {
        result,
        error,
        scoped_notification,  // progress or a log message on behalf of a request
        request,              // a request that we send
        notification,         // belongs to no request
    };
    kind type = kind::notification;
    serial owner = 0;  // the request that it answers or belongs to, or the call that it is
    stream_id stream = 0;
    const request_id* answered_id = nullptr;  // set for a response that a cancel may withdraw
    int code = 0;                             // of an error
    std::size_t size = 0;                     // of a large text, without what is around it; otherwise 0
    bool swaps = false;                       // the buffer is replaced by a large one if it is nearly empty
    // Of a request or notification, for transports that show them outside of the message, as HTTP does in headers.
    std::string_view method = {};
    std::string_view name = {};                      // of the tool, resource or prompt; "" if there is none
    const message_attributes* attributes = nullptr;  // of the caller

    bool is_response() const noexcept { return type == kind::result || type == kind::error; }
    /// Sent because the peer sent a request: a response, or a message on behalf of a request.
    bool is_reply() const noexcept { return is_response() || type == kind::scoped_notification; }
};

/// For sinks that keep messages until they can be sent: a message of which no byte was sent can be withdrawn (rules B4, D6).
class unsent_messages {
public:
    /// Removes every unsent message of `owner`. Returns how many there were.
    virtual std::size_t withdraw(serial owner) = 0;
    /// The owner of an unsent response to `id`, or 0. If there are several, the newest counts.
    virtual serial owner_of_response(const request_id& id) const noexcept = 0;
    /// Messages are numbered from 1 in the order in which they were queued. The number of the newest message, or 0.
    virtual std::uint64_t newest() const noexcept = 0;
    /// The number of the oldest unsent message; newest() + 1 if there is none.
    virtual std::uint64_t oldest_unsent() const noexcept = 0;

protected:
    ~unsent_messages() = default;
};

/// For sinks on which requests have streams of their own (HTTP). Override what differs from a byte stream.
class stream_control {
public:
    /// False if a request that we send on this stream could not reach the peer, or its response could not reach us.
    virtual bool may_send_request(stream_id) const noexcept { return true; }
    /// The request `id` that came on this stream ends without a response: it was cancelled, or its connection is gone.
    virtual void on_unanswered(stream_id, const request_id& /*id*/) {}
    /// The handler releases the client, which reconnects for the rest after `retry` (HTTP, revision 2025-11-25).
    virtual void release(stream_id, duration /*retry*/) {}
    /// Nobody waits any more for the response to a request whose sending has begun. Returns true if the sink itself tells the peer, for
    /// example by closing the stream: the core then sends no `notifications/cancelled`.
    virtual bool give_up(serial /*call*/) { return false; }

protected:
    ~stream_control() = default;
};

/// For sinks whose bytes wait until the peer reads them. Closing waits until they are written, for at most `limits::final_write`.
class write_queue {
public:
    /// When the peer counts as gone because it has read nothing (C11); nothing while no byte waits. Not virtual: the core asks in every
    /// turn.
    const std::optional<time_point>& stall_deadline() const noexcept { return stall_deadline_; }
    /// The connection is lost: drops everything, also a message that is half written.
    virtual void discard() noexcept = 0;

protected:
    ~write_queue() = default;
    std::optional<time_point> stall_deadline_;
};

/// Takes the messages of one peer_core. Used on the peer's loop only; must outlive the core.
class message_sink {
public:
    message_sink() = default;
    message_sink(const message_sink&) = delete;
    message_sink& operator=(const message_sink&) = delete;
    virtual ~message_sink() = default;

    /// Returns the buffer to which the caller appends the text of one message, or which it swaps with one that begins with the same
    /// content. `end` must follow, with the same description.
    virtual std::string& begin(const outgoing_message& about) = 0;
    virtual void end(const outgoing_message& about) = 0;
    /// Bytes that wait for the reader of this stream.
    virtual std::size_t queued_bytes(stream_id on) const noexcept = 0;
    /// The peer's turn is over: messages queued during it can be written together.
    virtual void flush(time_point now) = 0;

    /// The peer starts, and has closed. For sinks that own a connection.
    virtual void start() {}
    virtual void close() noexcept {}

    // What only some sinks can do; the core asks once, when it is created. Null: this sink cannot.
    virtual unsent_messages* unsent() noexcept { return nullptr; }
    virtual stream_control* streams() noexcept { return nullptr; }
    virtual write_queue* queue() noexcept { return nullptr; }
};

}  // namespace keel::rpc
