#include "http/modern_side.hpp"

#include "async/release_later.hpp"
#include "http/http_connection.hpp"
#include "http/service.hpp"
#include "http/sse_writer.hpp"

#include <keel/error.hpp>

namespace keel::inline KEEL_ABI::http {

namespace {

using rpc::outgoing_message;
using answer_form = http_options::answer_form;

/// What an error is as a status, while nothing has been streamed (I14). Errors without a status of their own are answers.
int status_of(const outgoing_message& about, bool stateless) noexcept {
    if (stateless) return 200;  // older clients do not look into other answers
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

modern_side::modern_side(http_connection& c) : connection_(&c), lane_(c.lane()) {}

std::shared_ptr<modern_side> modern_side::create(http_connection& c) {
    auto side = std::make_shared<modern_side>(c);
    keel::http::lane& lane = c.lane();
    // Held by the session until it has ended: it speaks through us.
    side->session_ = lane.shared.server->attach(lane.loop, [side, &lane](const connection_end&) {
        side->session_.reset();
        detail::release_later(*lane.loop, side);             // its peer uses us until this turn is over
        if (side->connection_) side->connection_->retire();  // only a server that stops ends it before its connection
        lane.remove_orphan(side);
        lane.let_go();
    });
    if (!side->session_) return nullptr;
    lane.hold();
    side->session_->start(lane.loop, *side, lane.shared.server->core->options.limits);
    return side;
}

void modern_side::receive_request(const rpc::message& message, answer_form form) {
    form_ = form;
    ++stream_;
    auto self = shared_from_this();
    connection_->expect_answer(self);
    session_->peer().receive(message, stream_);
    // Refusals have had their chance to be plain (HTTP-13).
    bool waits = connection_ && connection_->answering() && !connection_->streaming();
    if (form == answer_form::events && waits) open_stream();
}

void modern_side::receive_notification(const rpc::message& message) {
    auto self = shared_from_this();
    session_->peer().receive(message, 0);
}

void modern_side::connection_closed() {
    connection_ = nullptr;
    auto session = session_;
    if (!session) return;
    // H6: to an older client a lost connection means nothing; its call goes on, and nobody hears the answer.
    if (session->is_stateless()) {
        lane_.add_orphan(shared_from_this());
        session->close(duration::max());
    } else session->peer().fail("the client closed its connection");
}

// HTTP-11: the client has closed the stream of its answer, and that is how it cancels.
void modern_side::on_gone() {}  // connection_closed follows

void modern_side::on_drained() {
    if (auto session = session_) session->peer().drained();
}

void modern_side::on_quiet() {
    if (form_ != answer_form::json && connection_) open_stream();
}

void modern_side::open_stream() {
    connection_->open_stream();
    append_comment(connection_->begin_events());  // so that proxies let the head go (H19)
    connection_->end_events();
}

bool modern_side::is_sent(const outgoing_message& about) const noexcept {
    if (!connection_ || !connection_->answering() || about.stream != stream_) return false;
    return about.is_response() ||
           (about.type == outgoing_message::kind::scoped_notification && form_ != answer_form::json);
}

std::string& modern_side::begin(const outgoing_message& about) {
    if (!is_sent(about)) {
        discarded_.clear();
        return discarded_;
    }
    if (!connection_->streaming()) {
        // An error with a status of its own has to show it, whatever the form (HTTP-13).
        int status = status_of(about, session_->is_stateless());
        if (about.is_response() && (form_ != answer_form::events || status != 200)) {
            writing_ = &connection_->begin_json(status);
            return *writing_;
        }
        open_stream();
    }
    writing_ = &connection_->begin_events();
    *writing_ += "data: ";  // our JSON has no line ends in it
    return *writing_;
}

void modern_side::end(const outgoing_message& about) {
    std::string* written = std::exchange(writing_, nullptr);
    if (!written) return;
    if (!connection_->streaming()) return connection_->end_json();
    *written += "\n\n";
    connection_->end_events();
    if (about.is_response()) connection_->end_stream();
}

std::size_t modern_side::queued_bytes(rpc::stream_id) const noexcept {
    return connection_ ? connection_->waiting() : 0;
}

// Its own handler has closed the connection, or the server gives it up: there is nothing to be said on it any more.
void modern_side::on_unanswered(rpc::stream_id on, const rpc::request_id&) {
    if (connection_ && connection_->answering() && on == stream_) connection_->close();
}

void modern_side::flush(time_point) {
    if (connection_) connection_->lane().flush_dirty();
}

}  // namespace keel::http
