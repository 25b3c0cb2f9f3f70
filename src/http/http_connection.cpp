#include "http/http_connection.hpp"

#include "http/modern_side.hpp"
#include "http/response_head.hpp"
#include "http/router.hpp"
#include "http/service.hpp"
#include "http/sse_writer.hpp"

#include <cxxabi.h>

namespace keel::inline KEEL_ABI::http {

namespace {

// After a refusal the rest of what the client is sending is taken and thrown away for a while: closing at once would reset the
// connection, and the client might never see why.
constexpr duration linger_time = std::chrono::seconds(1);
// Kept from one answer to the next; a larger buffer is given back once it has been written.
constexpr std::size_t kept_capacity = 64 * 1024;

reader_limits limits_of(const http_limits& l) {
    return {.max_head = l.max_head, .max_headers = l.max_headers, .max_body = l.max_body};
}

}  // namespace

http_connection::http_connection(keel::http::lane& l, std::unique_ptr<connection> wire)
    : lane_(l), wire_(std::move(wire)), reader_(limits_of(l.shared.options.limits)) {}

http_connection::~http_connection() = default;

void http_connection::start() {
    set_deadline(lane_.shared.options.limits.head_time);
    wire_->start(*this);
}

// ---- input ----

// A connection that throws, out of descriptors perhaps, is a broken one. False: it is closed.
template <class F>
bool http_connection::on_wire(F f) {
    try {
        f();
        return true;
    } catch (const std::exception&) {
        fail();
        return false;
    }
}

void http_connection::on_input(std::string_view bytes) {
    auto self = shared_from_this();
    if (lingers_) return;
    if (step_ != step::reading || has_pending() || full()) {
        if (pending_at_ > pending_.size() / 2) pending_.erase(0, std::exchange(pending_at_, 0));
        pending_ += bytes;
        // Room for one request behind the one that is being answered. More waits in the system, unless we must see when the
        // client goes away: that stands behind what it has sent.
        const http_limits& bounds = lane_.shared.options.limits;
        if (pending_.size() - pending_at_ < bounds.max_head + bounds.max_body || paused_) return;
        if (modern_ && watcher_ == modern_) return fail();
        paused_ = true;
        on_wire([this] { wire_->pause(); });
        return;
    }
    take(bytes, false);
}

/// `is_pending`: the bytes lie in pending_, where what is not taken stays.
void http_connection::take(std::string_view bytes, bool is_pending) {
    taking_ = true;
    while (!bytes.empty() && step_ == step::reading && !close_after_ && !full()) {
        bool before = reader_.begun();
        bytes.remove_prefix(reader_.feed(bytes));
        if (reader_.at() == request_reader::state::complete) {
            step_ = step::pending;
            head_done_ = false;
            minor_ = reader_.get().minor;
            keep_alive_ = reader_.get().keep_alive;
            head_only_ = reader_.get().method == "HEAD";
            quiet_since_ = lane_.coarse_now();
            lane_.count_request();
            handling_ = true;
            handle_contained();
            handling_ = false;
            if (step_ == step::reading) reader_.next();  // not before: the message may still be looked at
            continue;
        }
        if (reader_.at() == request_reader::state::refused) {
            refuse(reader_.why().status, reader_.why().reason);
            break;
        }
        const http_limits& bounds = lane_.shared.options.limits;
        if (!before && reader_.begun()) set_deadline(bounds.head_time);
        if (reader_.at() == request_reader::state::body && !std::exchange(head_done_, true)) {
            set_deadline(bounds.body_time);
            if (reader_.wants_continue()) out_ += "HTTP/1.1 100 Continue\r\n\r\n";
        }
    }
    taking_ = false;
    if (!answering() && !full()) bytes = {};
    if (is_pending) pending_at_ = pending_.size() - bytes.size();
    else pending_ += bytes;
    if (!has_pending()) {
        std::string().swap(pending_);
        pending_at_ = 0;
    }
    if (answering()) reader_.release_memory();
    write_out();
    lane_.flush_dirty();
}

// What the program's own functions throw, or a lack of memory, ends this request and nothing else (F11).
void http_connection::handle_contained() {
    try {
        handle(*this, reader_.get());
    } catch (const std::exception& e) {
        failed(e.what());
    } catch (abi::__forced_unwind&) {
        throw;
    } catch (...) {  // anything may be thrown; its text cannot be known
        failed("an exception that is no std::exception");
    }
}

void http_connection::failed(const char* what) {
    lane_.shared.server->core->report(log_level::error, std::string("an HTTP request failed: ") + what);
    if (!answering()) return;
    if (step_ == step::streaming) return close();
    if (auto told = std::exchange(watcher_, nullptr)) told->on_gone();  // whoever was to answer does not any more
    close_sides();
    close_after_ = true;
    respond_error(*this, 500, "internal error");
}

// The answer was completed outside of take: what came meanwhile is looked at in a turn of its own.
void http_connection::go_on() {
    if (step_ != step::reading || close_after_ || full()) return;
    if (!on_wire([this] {
            if (std::exchange(paused_, false)) wire_->resume();
        })) {
        return;
    }
    auto self = shared_from_this();
    if (has_pending()) take(std::string_view(pending_).substr(pending_at_), true);
    if (input_ended_ && modern_ && watcher_ == modern_) return fail();  // it had left before this began
    if (step_ != step::reading || !input_ended_ || has_pending()) return;
    if (waiting() == 0) close();
    else close_after_ = true;
}

void http_connection::on_input_end() {
    auto self = shared_from_this();
    input_ended_ = true;
    if (step_ == step::reading) {
        if (has_pending()) return;
        if (waiting() == 0) return close();  // in the middle of a request or not: nothing of it is kept (E14)
        close_after_ = true;
        return;
    }
    // To an older client that means nothing; a modern one has cancelled by it, and its watcher knows.
    if (modern_ && watcher_ == modern_) return fail();
}

void http_connection::on_failure(std::string_view) { fail(); }

void http_connection::refuse(int status, const char* reason) {
    step_ = step::pending;
    minor_ = 1;
    head_only_ = false;
    close_after_ = true;
    lingers_ = true;
    respond_error(*this, status, reason);
    set_deadline(linger_time);
}

// ---- output ----

// After this answer the connection goes on, or not.
bool http_connection::stays_open() {
    if (!keep_alive_ || retired_ || lane_.stopping()) close_after_ = true;
    return !close_after_;
}

std::string& http_connection::begin_json(int status, std::string_view headers) {
    if (status >= 400) lane_.shared.counters.refused.fetch_add(1, std::memory_order_relaxed);
    if (headers.empty() && common_headers_.empty()) {
        slot_ = http::begin_json(out_, status, minor_, stays_open(), lane_.date_line());
    } else {
        std::string lines(lane_.date_line());
        lines += headers;
        lines += common_headers_;
        slot_ = http::begin_json(out_, status, minor_, stays_open(), lines);
    }
    return out_;
}

void http_connection::end_json() {
    http::end_json(out_, slot_);
    answered();
}

void http_connection::respond(int status, std::string_view content_type, std::string_view body,
                              std::string_view headers) {
    if (!answering()) return;
    if (status >= 400) lane_.shared.counters.refused.fetch_add(1, std::memory_order_relaxed);
    begin_response(out_, status, minor_, stays_open());
    out_ += lane_.date_line();
    if (!content_type.empty()) add_content_type(out_, content_type);
    out_ += headers;
    out_ += common_headers_;
    bool has_body = status >= 200 && status != 204 && status != 304;
    if (has_body) add_content_length(out_, body.size());
    end_head(out_);
    if (has_body && !head_only_) out_ += body;
    answered();
}

void http_connection::open_stream(std::string_view headers) {
    chunked_ = minor_ >= 1;
    if (!chunked_) close_after_ = true;
    begin_response(out_, 200, minor_, stays_open());
    out_ += lane_.date_line();
    add_content_type(out_, "text/event-stream");
    out_ += "Cache-Control: no-cache, no-transform\r\nX-Accel-Buffering: no\r\n";
    out_ += headers;
    out_ += common_headers_;
    if (chunked_) out_ += "Transfer-Encoding: chunked\r\n";
    end_head(out_);
    step_ = step::streaming;
    lane_.shared.counters.streams.fetch_add(1, std::memory_order_relaxed);
    flush();
}

std::string& http_connection::begin_events() {
    if (chunked_) slot_ = begin_chunk(out_);
    return out_;
}

void http_connection::end_events() {
    quiet_since_ = lane_.coarse_now();
    if (chunked_) end_chunk(out_, slot_);
    flush();
}

void http_connection::end_stream() {
    lane_.shared.counters.streams.fetch_sub(1, std::memory_order_relaxed);
    if (chunked_) append_last_chunk(out_);
    answered();
}

void http_connection::answered() {
    watcher_.reset();
    common_headers_.clear();
    step_ = step::reading;
    if (!handling_) reader_.next();
    set_deadline(lane_.shared.options.limits.idle_time);
    if (input_ended_ && !has_pending() && !taking_) close_after_ = true;
    flush();
    if (!taking_ && !close_after_) go_on_soon();
}

void http_connection::go_on_soon() {
    if (!has_pending()) return;
    lane_.loop->post([weak = weak_from_this()] {
        if (auto self = weak.lock()) self->go_on();
    });
}

// A client that sends requests and does not read the answers is not served on and on (J1).
bool http_connection::full() const noexcept { return waiting() >= lane_.shared.server->core->options.limits.out_queue; }

void http_connection::flush() {
    if (taking_ || dirty_ || step_ == step::closed) return;
    dirty_ = true;
    lane_.add_dirty(shared_from_this());
}

void http_connection::write_dirty() {
    dirty_ = false;
    write_out();
}

void http_connection::write_out() {
    if (step_ == step::closed) return;
    auto self = shared_from_this();
    std::size_t before = waiting();
    while (!blocked_ && waiting() > 0) {
        connection::written w;
        if (!on_wire([&] { w = wire_->write(std::string_view(out_).substr(written_)); })) return;
        if (!w.failure.empty()) return fail();
        blocked_ = w.bytes < waiting();
        written_ += w.bytes;
    }
    if (waiting() == 0) {
        stall_deadline_ = time_point::max();
        if (out_.capacity() > kept_capacity || step_ == step::streaming) std::string().swap(out_);
        else out_.clear();
        written_ = 0;
        if (step_ == step::reading) {
            if (lingers_) return wire_->end_output();
            if (close_after_ || (retired_ && !reader_.begun())) return close();
            if (before > 0 && !reader_.begun()) set_deadline(lane_.shared.options.limits.idle_time);
            if (!taking_) go_on_soon();
        }
    } else if (waiting() < before || stall_deadline_ == time_point::max()) {
        stall_deadline_ = after(lane_.coarse_now(), lane_.shared.server->core->options.limits.write_stall);
    }
    if (watcher_ && waiting() < before) {
        auto told = watcher_;  // it may let go of us
        told->on_drained();
    }
}

void http_connection::on_writable() {
    auto self = shared_from_this();
    blocked_ = false;
    if (written_ > kept_capacity) {
        out_.erase(0, written_);
        written_ = 0;
    }
    write_out();
    lane_.flush_dirty();
}

// ---- the end ----

void http_connection::tell_gone() {
    if (step_ == step::streaming) lane_.shared.counters.streams.fetch_sub(1, std::memory_order_relaxed);
    step_ = step::closed;
    if (auto told = std::exchange(watcher_, nullptr)) told->on_gone();
    close_sides();
}

void http_connection::close_sides() {
    if (auto side = std::exchange(modern_, nullptr)) side->connection_closed();
    if (auto side = std::exchange(stateless_, nullptr)) side->connection_closed();
}

void http_connection::fail() {
    auto self = shared_from_this();
    if (step_ == step::closed) return;
    tell_gone();
    wire_->close();
    lane_.remove(this);
}

void http_connection::close() { fail(); }

void http_connection::stop(duration drain) {
    if (step_ == step::closed) return;
    auto self = shared_from_this();
    for (auto side : {modern_, stateless_}) {
        if (side && !side->ended()) side->session().close(drain);
    }
    retire();
}

void http_connection::retire() {
    retired_ = true;
    if (step_ == step::reading && !reader_.begun() && !has_pending() && waiting() == 0) close();
}

void http_connection::set_deadline(duration d) noexcept { deadline_ = after(lane_.coarse_now(), d); }

void http_connection::check_time(time_point now) {
    auto self = shared_from_this();
    if (now >= stall_deadline_) return fail();
    if (step_ == step::reading && now >= deadline_ && waiting() == 0) {
        if (!reader_.begun() || lingers_) return close();
        return refuse(408, "the request took too long to arrive");
    }
    if (watcher_ && now - quiet_since_ >= lane_.shared.options.limits.keep_alive) {
        quiet_since_ = now;
        if (step_ == step::streaming) {
            if (waiting() == 0) {
                append_comment(begin_events());
                end_events();
            }
        } else {
            auto told = watcher_;
            told->on_quiet();
        }
    }
}

}  // namespace keel::http
