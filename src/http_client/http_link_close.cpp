// Closing a link: calls end immediately, queued responses are sent within limits.final_write, then the session is deleted (LHTTP-23).

#include "http_client/http_link.hpp"

#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::http_client {

session_delete::session_delete(http_link& home) : home_(home) {
    transfer_request out;
    out.method = "DELETE";
    out.headers = headers_of_delete(home.terms_);
    home.pool_->start(std::move(out), *this);
}

void session_delete::on_response(const response_view&) { home_.finish_close(); }

void session_delete::on_failure(transfer_failure, std::string_view) { home_.finish_close(); }

void http_link::on_closed(std::string_view cause, std::size_t abandoned) {
    closed_ = true;
    renewing_ = false;
    listener_.close();
    std::vector<link_exchange*> pointless;
    for (link_exchange& x : live_) {
        if (x.is_request() || x.now == link_exchange::stage::held) pointless.push_back(&x);
    }
    for (link_exchange* x : pointless) drop(*x);
    final_ = start_timer_after(*loop_, limits_.final_write, [this] {
        final_ = 0;
        finish_close();
    });
    // Error responses for pending requests of the server are queued now and sent at the end of this turn.
    later([this] {
        leaving_ = true;
        if (live_.empty()) delete_session();
    });
    user_->on_closed(cause, abandoned);
}

void http_link::delete_session() {
    if (session_delete_ || !pool_) return;
    const bool in_session = !terms_.modern && !old_ && !terms_.session.empty();
    if (!in_session) return finish_close();
    session_delete_ = std::make_unique<session_delete>(*this);
}

void http_link::finish_close() {
    later([this] {
        if (!pool_) return;
        loop_->stop_timer(std::exchange(final_, 0));
        leaving_ = false;
        while (!live_.empty()) drop(live_.front());
        old_.reset();
        pool_.reset();
        session_delete_.reset();
        loop_->stop_timer(std::exchange(sweep_, 0));
        loop_->stop_timer(std::exchange(gate_timer_, 0));
        gone_.set();  // a waiting task may destroy the link
    });
}

task<void> http_link::ended() {
    if (peer_) co_await gone_;
}

http_link::~http_link() {
    alive_.reset();
    closed_ = true;
    leaving_ = false;
    for (loop::timer t : {final_, sweep_, gate_timer_}) loop_->stop_timer(t);
    for (link_exchange& x : live_) loop_->stop_timer(x.pause);
    listener_.close();
    old_.reset();
    pool_.reset();  // before the transfer users it refers to
}

}  // namespace keel::http_client
