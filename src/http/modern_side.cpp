#include "http/modern_side.hpp"

#include "http/http_connection.hpp"
#include "http/service.hpp"
#include "http/sse_writer.hpp"

#include <keel/error.hpp>

namespace keel::inline KEEL_ABI::http {

namespace {

using rpc::frame;
using answer_form = http_options::answer_form;

/// What an error is as a status, while nothing has been streamed (I14). Errors without a status of their own are answers.
int status_of(const frame& about, bool stateless) noexcept {
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

bool is_answer(const frame& about) noexcept {
    return about.what == frame::kind::result || about.what == frame::kind::error;
}

}  // namespace

modern_side::modern_side(http_connection& c) : connection_(&c), lane_(c.lane()) {}

std::shared_ptr<modern_side> modern_side::create(http_connection& c) {
    auto side = std::make_shared<modern_side>(c);
    keel::http::lane& lane = c.lane();
    // Held by the session until it has ended: it speaks through us.
    side->session_ = lane.shared.server->attach(lane.loop, [side, &lane](const connection_end&) {
        side->session_.reset();
        lane.loop->post([side] {});                          // its peer speaks through us until this turn is over
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
    } else session->peer().lost("the client closed its connection");
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

bool modern_side::speaks(const frame& about) const noexcept {
    if (!connection_ || !connection_->answering() || about.stream != stream_) return false;
    return is_answer(about) || (about.what == frame::kind::said && form_ != answer_form::json);
}

std::string& modern_side::begin(const frame& about) {
    if (!speaks(about)) {
        unheard_.clear();
        return unheard_;
    }
    if (!connection_->streaming()) {
        // An error with a status of its own has to show it, whatever the form (HTTP-13).
        int status = status_of(about, session_->is_stateless());
        if (is_answer(about) && (form_ != answer_form::events || status != 200)) {
            writing_ = &connection_->begin_json(status);
            return *writing_;
        }
        open_stream();
    }
    writing_ = &connection_->begin_events();
    *writing_ += "data: ";  // our JSON has no line ends in it
    return *writing_;
}

std::uint64_t modern_side::end(const frame& about) {
    std::string* written = std::exchange(writing_, nullptr);
    if (!written) return next_number_++;
    if (!connection_->streaming()) {
        connection_->end_json();
        return next_number_++;
    }
    *written += "\n\n";
    connection_->end_events();
    if (is_answer(about)) connection_->end_stream();
    return next_number_++;
}

std::size_t modern_side::waiting(rpc::stream_id) const noexcept { return connection_ ? connection_->waiting() : 0; }

// Its own handler has closed the connection, or the server gives it up: there is nothing to be said on it any more.
void modern_side::unanswered(rpc::stream_id on, const rpc::request_id&) {
    if (connection_ && connection_->answering() && on == stream_) connection_->close();
}

void modern_side::flush() {
    if (connection_) connection_->lane().flush_dirty();
}

}  // namespace keel::http
