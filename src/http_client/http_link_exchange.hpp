#pragma once

// One message sent to the server in a POST, and its response.

#include "http/sse_reader.hpp"
#include "http_client/http_link_outcome.hpp"
#include "http_client/transfer.hpp"
#include "rpc/message_sink.hpp"

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http_client {

class http_link;

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
};

/// Owned by its link, which reuses it for another message.
class link_exchange final : public transfer_user {
public:
    enum class stage : unsigned char {
        queued,  // sent at the end of the turn
        held,    // until there is a new session
        sent,
        pausing,  // its stream has ended and will be resumed
        over,
    };

    explicit link_exchange(http_link& home) noexcept : home_(home) {}
    link_exchange(const link_exchange&) = delete;
    link_exchange& operator=(const link_exchange&) = delete;
    ~link_exchange() = default;

    /// Prepares it for another message.
    void reset();
    /// Frees large buffers after the end.
    void free_buffers() noexcept;
    bool is_request() const noexcept { return message.what == posted_message::kind::request; }
    /// True if the server has responded.
    bool accepted() const noexcept { return has_head_ || resumed_; }

    posted_message message;
    stage now = stage::queued;
    transfer_pool::id transfer = 0;
    loop::timer pause = 0;
    std::uint64_t epoch = 0;  // number of the session it was sent in; 0: none
    bool modern = false;      // the era in which it was sent
    bool by_stream = false;   // its response arrives on the SSE stream of 2024-11-05
    bool settled = false;     // the call has its outcome
    bool given_up = false;    // cancelled: dropped at the end of the turn
    time_point since{};       // when it was sent or settled
    int busy = 0;             // number of its functions on the stack
    std::list<link_exchange>::iterator place;
    // Links of the list of unsent exchanges.
    bool counted = false;
    link_exchange* next = nullptr;
    link_exchange* previous = nullptr;

private:
    class visit;
    enum class form : unsigned char { nothing, json, events, refusal, ignored };

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
    void take_refusal();
    /// D2, HTTP-12, I7: in the modern era a stream cannot be resumed, and the library never retries a call.
    bool resumable() const;
    /// The stream ended or failed without the response (D2).
    void stream_over(std::string_view why);
    void resume_later(std::string_view why);
    void fail(rpc::call_outcome outcome);
    void fail(error_kind kind, std::string why) { fail(failed_call(kind, std::move(why), status_)); }

    http_link& home_;
    form form_ = form::nothing;
    bool has_head_ = false;
    bool resumed_ = false;
    bool heard_other_ = false;  // a response to another request arrived
    int status_ = 0;
    std::size_t ignored_ = 0;  // bytes
    std::string body_;
    std::optional<http::sse_reader> reader_;
    reconnect_backoff pace_;

    friend class http_link;
};

}  // namespace keel::http_client
