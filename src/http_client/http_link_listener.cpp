#include "http_client/http_link_listener.hpp"

#include "http_client/http_link_headers.hpp"
#include "http_client/http_session.hpp"
#include "http_client/link_context.hpp"
#include "http_client/message_inbox.hpp"

#include <utility>

namespace keel::inline KEEL_ABI::http_client {

namespace {

/// Temporary rejections: timeout, another stream is open, rate limit.
bool is_for_now(int status) noexcept { return status == 408 || status == 409 || status == 425 || status == 429; }

constexpr duration long_enough = std::chrono::seconds(10);  // a stream that lasted this long counts as successful

}  // namespace

link_listener::link_listener(link_context& context, const http_session& session, message_inbox& inbox,
                             std::function<void()> on_session_lost) noexcept
    : context_(context), session_(session), inbox_(inbox), on_session_lost_(std::move(on_session_lost)) {}

void link_listener::open() {
    if (is_open() || answered_->is_set()) {
        close();
        answered_ = std::make_shared<event>();
    }
    worked_ = false;
    refused_ = false;
    pace_ = {};
    if (busy_) {
        // Called from an event of the previous stream: the reader is on the stack.
        pause_ = context_.start_timer(duration::zero(), [this] {
            pause_ = 0;
            open();
        });
        return;
    }
    reader_.emplace(http::sse_limits{context_.max_body()});
    start();
}

task<void> link_listener::answered() {
    auto keep = answered_;
    co_await *keep;
}

// Posted, because a waiting task may end the link.
void link_listener::tell_answered() {
    if (answered_->is_set()) return;
    context_.post([done = answered_] { done->set(); });
}

void link_listener::close() noexcept {
    if (is_open()) tell_answered();
    ++run_;
    context_.cancel(transfer_);
    context_.stop_timer(pause_);
}

void link_listener::start() {
    transfer_request out;
    out.method = "GET";
    out.lasting = true;
    std::string_view id = reader_->last_event_id();
    if (!is_writable_header("last-event-id", id)) id = {};
    goes_on_ = !id.empty();
    out.headers = headers_of_stream(session_.terms(), id);
    reading_ = false;
    reader_->restart();
    transfer_ = context_.start(std::move(out), *this);
}

void link_listener::again() {
    transfer_ = 0;
    // A stream that never worked is given up; one that did is reopened as long as the session lasts.
    if (!worked_ && pace_.exhausted()) return give_up("it failed repeatedly");
    pause_ = context_.start_timer(pace_.next(reader_->retry()), [this] {
        pause_ = 0;
        start();
    });
}

// The server has no such stream, which is allowed.
void link_listener::give_up(const std::string& why) {
    refused_ = true;
    context_.user().on_stream_refused("the server has no stream for its notifications: " + why);
}

void link_listener::on_response(const response_view& r) {
    tell_answered();
    if (r.status >= 200 && r.status < 300 && is_event_stream_type(r.header("content-type"))) {
        const bool interrupted = std::exchange(worked_, true);
        reading_ = true;
        since_ = context_.now();
        if (interrupted && !goes_on_) context_.user().on_gap();
        return;
    }
    context_.cancel(transfer_);
    if (r.status >= 500 || is_for_now(r.status)) return again();
    if (!worked_) return give_up(describe_refusal(r.status, {}));
    // Many servers send 404 instead of 405. It means a lost session only if the stream worked before (LHTTP-11).
    if (r.status == 404 && session_.has_id()) return on_session_lost_();
    if (goes_on_) {
        // The server may not keep that event any more (H16). A stream from now on is better than none.
        reader_->forget_position();
        return again();
    }
    context_.user().on_silence("the server closed the stream for its notifications: " + describe_refusal(r.status, {}));
}

void link_listener::on_body(std::string_view bytes) {
    if (!reading_) return;
    const std::uint64_t run = run_;
    busy_ = true;
    reader_->feed(
        bytes,
        [this, run](const http::sse_event& e) {
            if (run != run_) return;
            pace_.event_received();
            inbox_.take_event(nullptr, e);
        },
        [this, run](std::string_view beginning) {
            if (run != run_) return;
            pace_.event_received();
            inbox_.take_large_message(beginning);
        });
    busy_ = false;
}

void link_listener::on_end() {
    tell_answered();
    if (reading_ && context_.now() - since_ >= long_enough) pace_.event_received();
    again();
}

void link_listener::on_failure(transfer_failure, std::string_view) { on_end(); }

}  // namespace keel::http_client
