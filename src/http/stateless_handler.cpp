#include "http/stateless_handler.hpp"

#include "async/release_later.hpp"
#include "http/http_connection.hpp"
#include "http/http_server_core.hpp"
#include "http/sse_writer.hpp"

#include <keel/error.hpp>

namespace keel::inline KEEL_ABI::http {

namespace {

using rpc::outgoing_message;
using answer_form = http_options::answer_form;

/// The HTTP status of an error before a stream is opened (I14). Other errors are sent with status 200.
int status_of(const outgoing_message& about, bool stateless) noexcept {
    if (stateless) return 200;  // clients of older revisions ignore the body of other statuses
    switch (about.code) {
        case error_code::method_not_found: return 404;
        case error_code::parse:
        case error_code::invalid_request:
        case error_code::header_mismatch:
        case error_code::missing_client_capability:
        case error_code::unsupported_protocol_version: return 400;
        default: return 200;
    }
}

}  // namespace

stateless_handler::stateless_handler(http_connection& c, std::shared_ptr<const tenant> by, std::string_view principal)
    : connection_(&c), worker_(c.worker()), by_(std::move(by)), principal_(principal) {}

std::shared_ptr<stateless_handler> stateless_handler::create(http_connection& c, std::shared_ptr<const tenant> by,
                                                             std::string_view principal) {
    auto handler = std::make_shared<stateless_handler>(c, std::move(by), principal);
    keel::http::http_worker& worker = c.worker();
    // The server_session owns this object until it has ended: it writes through it.
    handler->session_ = handler->by_->server->attach(worker.loop, [handler, &worker](const connection_end&) {
        handler->session_.reset();
        handler->calls_.update(0);
        detail::release_later(*worker.loop, handler);  // the peer uses this object until the end of the turn
        if (handler->connection_) handler->connection_->retire();  // the server is stopping
        worker.remove_orphan(handler);
        worker.let_go();
    });
    if (!handler->session_) return nullptr;
    worker.hold();
    handler->session_->start(worker.loop, *handler, handler->by_->server->core().options.limits);
    handler->calls_.count_for(c.counted_client());
    return handler;
}

void stateless_handler::receive_request(const rpc::message& message, answer_form form) {
    form_ = form;
    listening_ = message.method == "subscriptions/listen";
    ++stream_;
    auto self = shared_from_this();
    connection_->expect_answer(self);
    session_->peer().receive(message, stream_, connection_->large_input());
    // Not before `receive`: errors are sent as plain JSON with their status (HTTP-13).
    bool waits = connection_ && connection_->answering() && !connection_->streaming();
    if (form == answer_form::events && waits) open_stream();
}

void stateless_handler::receive_notification(const rpc::message& message) {
    auto self = shared_from_this();
    session_->peer().receive(message, 0);
}

void stateless_handler::connection_closed() {
    connection_ = nullptr;
    auto session = session_;
    if (!session) return;
    // H6: up to 2025-11-25 a lost connection does not cancel a call. It continues, and its answer is dropped.
    if (session->is_stateless()) {
        worker_.add_orphan(shared_from_this());
        session->close(duration::max());
    } else session->peer().fail("the client closed its connection");
}

// HTTP-11: closing the connection cancels the request.
void stateless_handler::on_gone() {}  // connection_closed follows

void stateless_handler::on_drained() {
    if (auto session = session_) session->peer().drained();
}

void stateless_handler::on_quiet() {
    if (form_ != answer_form::json && connection_) open_stream();
}

void stateless_handler::open_stream() {
    connection_->open_stream();
    append_comment(connection_->begin_events());  // makes proxies forward the head (H19)
    connection_->end_events();
}

bool stateless_handler::is_sent(const outgoing_message& about) const noexcept {
    if (!connection_ || !connection_->answering() || about.stream != stream_) return false;
    return about.is_response() ||
           (about.type == outgoing_message::kind::scoped_notification && form_ != answer_form::json);
}

std::string& stateless_handler::begin(const outgoing_message& about) {
    if (!is_sent(about)) {
        discarded_.clear();
        return discarded_;
    }
    if (!connection_->streaming()) {
        // An error with its own status is sent as JSON, whatever the form (HTTP-13).
        int status = status_of(about, session_->is_stateless());
        if (about.is_response() && (form_ != answer_form::events || status != 200)) {
            writing_ = &connection_->begin_json(status, {}, about.swaps ? 0 : about.size);
            return *writing_;
        }
        open_stream();
    }
    writing_ = &connection_->begin_events();
    *writing_ += "data: ";  // our JSON text contains no line ends
    return *writing_;
}

void stateless_handler::end(const outgoing_message& about) {
    std::string* written = std::exchange(writing_, nullptr);
    if (!written) return;
    if (!connection_->streaming()) return connection_->end_json();
    *written += "\n\n";
    connection_->end_events();
    if (about.is_response()) connection_->end_stream();
}

std::size_t stateless_handler::queued_bytes(rpc::stream_id) const noexcept {
    return connection_ ? connection_->waiting() : 0;
}

// The handler closed the connection, or the server abandoned the request: there is no answer.
void stateless_handler::on_unanswered(rpc::stream_id on, const rpc::request_id&) {
    if (connection_ && connection_->answering() && on == stream_) connection_->close();
}

std::size_t stateless_handler::client_room() const noexcept {
    return calls_.room(worker_.shared.quotas.limits().calls);
}

// The end of a turn of the peer: handlers may have started or ended.
void stateless_handler::flush(time_point) {
    const std::size_t running = session_ ? session_->peer().core().running() : 0;
    calls_.update(running - (listening_ && running > 0 ? 1 : 0));
    if (connection_) connection_->worker().flush_dirty();
}

}  // namespace keel::http
