#pragma once

// One message sent to the server in a POST, and its response.

#include "http_client/exchange_owner.hpp"
#include "http_client/http_link_outcome.hpp"
#include "http_client/transfer.hpp"
#include "http_common/sse_reader.hpp"
#include "rpc/message_sink.hpp"

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http_client {

class link_context;
class message_inbox;

/// The message of one POST.
struct posted_message {
    enum class kind : unsigned char { request, response, notification };
    kind what = kind::notification;
    rpc::serial owner = 0;
    rpc::request_id answers;
    std::uint64_t number = 0;
    std::string method;
    std::string name;
    header_list extra;
    std::string body;
    std::size_t size = 0;   // of the body, also after the body was moved
    bool repeated = false;  // it was sent again, because its session had expired

    bool is_request() const noexcept { return what == kind::request; }
    bool opens_session() const noexcept { return is_request() && method == "initialize"; }
    /// The last message of the legacy handshake.
    bool ends_handshake() const noexcept { return what == kind::notification && method == "notifications/initialized"; }
    void reset();
};

/// How a message was sent.
struct sending_terms {
    std::uint64_t epoch = 0;  // number of the session it was sent in; 0: none
    bool modern = false;      // the era in which it was sent
    bool by_stream = false;   // its response arrives on the SSE stream of 2024-11-05
};

/// The part of a response that has arrived.
struct partial_response {
    enum class form : unsigned char { nothing, json, events, refusal, ignored };
    form body_form = form::nothing;
    bool has_head = false;
    bool resumed = false;
    bool heard_other = false;  // a response to another request arrived
    int status = 0;
    std::size_t ignored = 0;  // bytes
    std::string body;
    std::optional<http::sse_reader> events;
    reconnect_backoff pace;

    void reset();
};

/// Reads the response to one message and decides what it means. Owned by an exchange_table, which reuses it for another message; used on
/// the loop only. The parts of the link that send, hold and end exchanges use the public members.
class link_exchange final : public transfer_user {
public:
    enum class stage : unsigned char {
        queued,  // sent at the end of the turn
        held,    // until there is a new session
        sent,
        pausing,  // its stream has ended and will be resumed
        over,
    };
    /// Its place in the list of unsent exchanges; for unsent_exchanges only.
    struct unsent_links {
        bool listed = false;
        link_exchange* next = nullptr;
        link_exchange* previous = nullptr;
    };

    link_exchange(link_context& context, message_inbox& inbox, exchange_owner& owner) noexcept
        : context_(context), inbox_(inbox), owner_(owner) {}
    link_exchange(const link_exchange&) = delete;
    link_exchange& operator=(const link_exchange&) = delete;
    ~link_exchange() = default;

    /// Prepares it for another message.
    void reset();
    /// Frees large buffers after the end.
    void free_buffers() noexcept;
    bool is_request() const noexcept { return message.is_request(); }
    /// True if the server has responded.
    bool accepted() const noexcept { return response_.has_head || response_.resumed; }
    /// True if the server has rejected the message; the body of the error response may be incomplete.
    bool refused() const noexcept { return response_.body_form == partial_response::form::refusal; }
    /// Uses the error response as far as it has arrived.
    void take_refusal();
    /// A response to another request arrived on its stream.
    void heard_other() noexcept { response_.heard_other = true; }
    /// The server did not process the message: it will be sent again.
    void prepare_repetition() noexcept;
    /// True while one of its functions is on the stack.
    bool busy() const noexcept { return visits_ != 0; }

    posted_message message;
    sending_terms sent_in;
    stage now = stage::queued;
    transfer_pool::id transfer = 0;
    loop::timer pause = 0;
    bool settled = false;                      // the call has its outcome
    bool given_up = false;                     // cancelled: dropped at the end of the turn
    time_point since{};                        // when it was sent or settled
    std::list<link_exchange>::iterator place;  // for exchange_table only
    unsent_links unsent;

private:
    class visit;
    using form = partial_response::form;

    void on_response(const response_view& r) override;
    void on_body(std::string_view bytes) override;
    void on_end() override;
    void on_failure(transfer_failure what, std::string_view why) override;

    void read_answer(const response_view& r);
    void read_notification_reply(const response_view& r);
    void read_resumed(const response_view& r);
    void take_json();
    bool take_whole_message(const json::value& v);
    void take_events(std::string_view bytes);
    void take_large_event(std::string_view beginning);
    /// D2, HTTP-12, I7: in the modern era a stream cannot be resumed, and the library never retries a call.
    bool resumable() const;
    /// The stream ended or failed without the response (D2).
    void stream_over(std::string_view why);
    void resume_later(std::string_view why);
    void fail(rpc::call_outcome outcome);
    void fail(error_kind kind, std::string why) { fail(failed_call(kind, std::move(why), response_.status)); }

    link_context& context_;
    message_inbox& inbox_;
    exchange_owner& owner_;
    partial_response response_;
    int visits_ = 0;
};

}  // namespace keel::http_client
