#include "http_client/client_connection.hpp"

#include "http_client/proxy_tunnel.hpp"
#include "http_client/redirect.hpp"
#include "tls/tls_client_context.hpp"
#include "tls/tls_connection.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace keel::inline KEEL_ABI::http_client {

namespace {

// A larger request buffer is freed after it was written; a smaller one is reused.
constexpr std::size_t kept_capacity = 64 * 1024;
// Maximum number of bytes of an unwanted response that are read to keep the connection.
constexpr std::size_t max_drain = 64 * 1024;

std::string text_of(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& e) {
        return e.what();
    }
}

std::string seconds_of(duration d) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(d).count()) + " s";
}

}  // namespace

client_connection::client_connection(connection_owner& owner, loop& l, const pool_options& options,
                                     const server_address& to, transfer_pool::id newest)
    : owner_(owner), loop_(l), options_(options), to_(to), newest_(newest), reader_(options.max_head) {}

client_connection::~client_connection() { close(); }

void client_connection::set_deadline(duration d) {
    deadline_ = after(loop_.now(), d);
    owner_.on_deadline(deadline_);
}

// ---- making it ----

void client_connection::dial(const dialer& how) {
    auto self = shared_from_this();
    set_deadline(options_.connect_timeout);
    auto line = std::make_shared<detail::activity>(loop_);
    dialing_ = line;
    detail::start(*line, how(loop_, to_.first_hop()),
                  [weak = weak_from_this(), line](detail::outcome<std::unique_ptr<connection>> result) {
                      if (auto us = weak.lock()) us->dialed(std::move(result));
                  });
}

void client_connection::dialed(detail::outcome<std::unique_ptr<connection>> result) {
    dialing_.reset();
    if (phase_ != phase::dialing) return;
    if (result.index() == 0) return could_not_connect(text_of(std::get<0>(result)));
    auto raw = std::move(std::get<1>(result));
    try {
        if (to_.proxy && to_.at.secure) return open_tunnel(std::move(raw));
        if (to_.at.secure) return secure(std::move(raw));
        wire_ = std::move(raw);
        wire_->start(*this);
    } catch (const std::exception& e) {  // out of file descriptors or memory
        return could_not_connect(e.what());
    }
    become_free(options_.idle_timeout);
}

void client_connection::open_tunnel(std::unique_ptr<connection> raw) {
    phase_ = phase::tunnelling;
    tunnel_ = std::make_unique<proxy_tunnel>(std::move(raw), connect_request(to_), options_.max_head,
                                             [this](std::string failure) {
                                                 auto self = shared_from_this();
                                                 tunnel_opened(std::move(failure));
                                             });
    if (std::string failure = tunnel_->open(); !failure.empty()) could_not_connect(std::move(failure));
}

void client_connection::tunnel_opened(std::string failure) {
    if (!failure.empty()) return could_not_connect(std::move(failure));
    try {
        secure(std::move(tunnel_));
    } catch (const std::exception& e) {
        could_not_connect(e.what());
    }
}

void client_connection::secure(std::unique_ptr<connection> raw) {
    phase_ = phase::securing;
    auto wire = std::make_unique<tls::tls_connection>(loop_, std::move(raw), to_.tls->new_session(to_.at.host),
                                                      options_.write_stall);
    tls_ = wire.get();
    wire_ = std::move(wire);
    wire_->start(*this);
    // Before the TLS handshake is done this write takes nothing, and on_writable reports when it would.
    if (connection::written w = wire_->write(" "); !w.failure.empty()) could_not_connect(std::move(w.failure));
}

void client_connection::could_not_connect(std::string why) {
    auto self = shared_from_this();
    close();
    std::string where = "cannot connect to " + to_.at.origin();
    if (to_.proxy) where += " through the proxy " + to_.proxy->at.text();
    owner_.on_no_connection(*this, where + ": " + why);
}

void client_connection::become_free(duration usable_for) {
    phase_ = phase::free;
    if (wire_paused_) {
        wire_paused_ = false;
        try {
            wire_->resume();
        } catch (const std::exception&) {  // the loop cannot watch the descriptor
            return drop();
        }
    }
    set_deadline(usable_for);
    owner_.on_free(*this);
}

// ---- a request ----

void client_connection::send(transfer& t) {
    auto self = shared_from_this();
    phase_ = phase::busy;
    deadline_ = time_point::max();
    transfer_ = &t;
    t.on = this;
    out_.clear();
    append_request_head(out_, t.what, to_, t.what.body.size());
    body_at_ = out_.size();
    out_ += t.what.body;
    t.what.body = {};
    written_ = 0;
    blocked_ = sent_ = false;
    reader_.start(t.what.method == "HEAD" ? response_reader::request_kind::head : response_reader::request_kind::usual);
    if (t.paused) pause();
    if (std::string failure = write_out(); !failure.empty())
        return fail(transfer_failure::lost, std::move(failure), true);
}

/// Returns the failure, or "".
std::string client_connection::write_out() {
    const std::size_t before = written_;
    connection::written w;
    try {
        w = wire_->write(std::string_view(out_).substr(written_));
    } catch (const std::exception& e) {  // out of memory, or the loop cannot watch the descriptor
        w.failure = e.what();
    }
    written_ += w.bytes;
    if (w.bytes > 0) sent_ = transfer_->left = true;
    if (!w.failure.empty()) return std::move(w.failure);
    blocked_ = written_ < out_.size();
    if (!blocked_) deadline_ = time_point::max();
    else if (written_ > before || deadline_ == time_point::max()) set_deadline(options_.write_stall);
    return {};
}

std::string client_connection::take_back_body() {
    std::string body = out_.substr(body_at_);
    out_.resize(body_at_);  // the rest is not written any more
    return body;
}

void client_connection::release_request() {
    if (blocked_) return;
    if (out_.capacity() > kept_capacity) std::string().swap(out_);
    else out_.clear();
    written_ = 0;
}

void client_connection::on_writable() {
    auto self = shared_from_this();
    if (phase_ == phase::securing && tls_->handshaken()) return become_free(options_.idle_timeout);
    if (phase_ != phase::busy || !blocked_) return;
    if (std::string failure = write_out(); !failure.empty()) return fail(transfer_failure::lost, std::move(failure));
    // Not after an interim response: a redirect may follow, which needs the body again.
    if (transfer_ && reader_.status() >= 200) release_request();
}

// ---- its response ----

void client_connection::on_input(std::string_view bytes) {
    auto self = shared_from_this();
    if (phase_ == phase::free) return drop();  // unexpected data must not become the response to the next request
    if (phase_ != phase::busy) return;
    if (holds()) {
        held_ += bytes;
        return;
    }
    take(bytes);
    if (phase_ != phase::closed && std::exchange(redirected_, false)) owner_.on_redirected();
}

void client_connection::take(std::string_view bytes) {
    // A response before the request was sent belongs to no request.
    if (!sent_ && !bytes.empty()) return fail(transfer_failure::lost, "the server sent data before the request");
    while (phase_ == phase::busy) {
        if (transfer_ && transfer_->paused) {
            held_.assign(bytes);
            return;
        }
        switch (reader_.next(bytes)) {
            case response_reader::event::more: return wire_->expect_more_input();
            case response_reader::event::bad: return fail(transfer_failure::malformed, reader_.why());
            case response_reader::event::end: return complete(bytes.empty());
            case response_reader::event::head: take_head(); break;
            case response_reader::event::body:
                if (transfer_) {
                    transfer_->user->on_body(reader_.piece());
                } else if ((drained_ += reader_.piece().size()) > max_drain) {
                    return drop();
                }
                break;
        }
    }
}

void client_connection::take_head() {
    const response_view view{reader_.status(), &reader_.headers()};
    if (may_follow(view.status, transfer_->what.method) && view.has("location") &&
        owner_.on_redirection(*transfer_, view)) {
        transfer_ = nullptr;
        redirected_ = true;
        // The rest of the response is read if it is short, so that the connection can be reused.
        drained_ = 0;
        if (blocked_ || !reader_.keep_alive() || reader_.left().value_or(0) > max_drain) {
            drop();
            owner_.on_redirected();
            return;
        }
        set_deadline(options_.idle_timeout);
        return;
    }
    release_request();
    transfer_->user->on_response(view);
}

void client_connection::complete(bool nothing_left) {
    transfer* done = std::exchange(transfer_, nullptr);
    used_ = true;
    release_request();
    duration usable_for = options_.idle_timeout;
    if (auto server_says = reader_.idle_time()) {
        usable_for = std::min<duration>(usable_for, *server_says - std::chrono::seconds(1));
    }
    if (nothing_left && reader_.keep_alive() && !blocked_ && ending_ == ending::none && usable_for > duration::zero()) {
        become_free(usable_for);
    } else {
        drop();
    }
    if (done) owner_.on_complete(*done);
}

void client_connection::on_input_end() {
    auto self = shared_from_this();
    switch (phase_) {
        case phase::securing: return could_not_connect("the server closed the connection");
        case phase::free: return drop();
        case phase::busy:
            if (holds()) {
                ending_ = ending::end;
                return;
            }
            return input_ended();
        default: return;
    }
}

void client_connection::input_ended() {
    if (reader_.end_of_input() == response_reader::event::end) return complete(false);
    fail(transfer_failure::lost, reader_.begun() ? "the server closed the connection in the middle of its response"
                                                 : "the server closed the connection without a response");
}

void client_connection::on_failure(std::string_view cause) {
    auto self = shared_from_this();
    switch (phase_) {
        case phase::securing: return could_not_connect(std::string(cause));
        case phase::free: return drop();
        case phase::busy:
            if (holds() &&
                (!held_.empty() || reader_.left() == 0u)) {  // the buffered input may contain the whole response
                ending_ = ending::failure;
                cause_ = cause;
                return;
            }
            return fail(transfer_failure::lost, "the connection failed: " + std::string(cause));
        default: return;
    }
}

// ---- pausing ----

void client_connection::pause() noexcept {
    if (!wire_ || phase_ == phase::closed || std::exchange(wire_paused_, true)) return;
    wire_->pause();
}

void client_connection::resume() {
    loop_.post([weak = weak_from_this()] {
        if (auto self = weak.lock()) self->pump();
    });
}

void client_connection::pump() {
    if (phase_ != phase::busy || (transfer_ && transfer_->paused)) return;
    const std::string bytes = std::exchange(held_, {});
    take(bytes);
    if (phase_ == phase::busy && !(transfer_ && transfer_->paused)) {
        if (ending_ == ending::end) {
            input_ended();
        } else if (ending_ == ending::failure) {
            fail(transfer_failure::lost, "the connection failed: " + cause_);
        } else if (std::exchange(wire_paused_, false)) {
            try {
                wire_->resume();
            } catch (const std::exception& e) {  // the loop cannot watch the descriptor
                fail(transfer_failure::lost, e.what());
            }
        }
    }
    if (phase_ != phase::closed && std::exchange(redirected_, false)) owner_.on_redirected();
}

// ---- the end ----

void client_connection::fail(transfer_failure what, std::string why, bool later) {
    transfer* lost = std::exchange(transfer_, nullptr);
    const bool unsent = lost && !sent_;
    if (unsent) lost->what.body = take_back_body();
    if (lost) lost->on = nullptr;
    drop();
    if (!lost) return;
    if (unsent) owner_.on_unsent(*lost, std::move(why), used_);
    else owner_.on_broken(*lost, what, std::move(why), later);
}

void client_connection::drop() {
    close();
    owner_.on_gone(*this);
}

void client_connection::close() noexcept {
    if (phase_ == phase::closed) return;
    phase_ = phase::closed;
    transfer_ = nullptr;
    deadline_ = time_point::max();
    if (auto line = std::exchange(dialing_, nullptr)) line->stop();
    if (tunnel_) tunnel_->close();
    if (wire_) wire_->close();
}

void client_connection::check_time(time_point now) {
    if (now < deadline_) return;
    auto self = shared_from_this();
    switch (phase_) {
        case phase::dialing:
        case phase::tunnelling:
        case phase::securing: return could_not_connect("timed out after " + seconds_of(options_.connect_timeout));
        case phase::free: return drop();
        case phase::busy:
            return fail(transfer_failure::lost,
                        "the server read nothing of the request for " + seconds_of(options_.write_stall));
        case phase::closed: return;
    }
}

}  // namespace keel::http_client
