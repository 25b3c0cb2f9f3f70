#include "http/http1_core.hpp"

#include "http/planted.hpp"
#include "http/response_head.hpp"
#include "http/sse_writer.hpp"

#include <algorithm>
#include <utility>

namespace keel::inline KEEL_ABI::http {

namespace {

// After a refusal the rest of the input is discarded for this time. Closing a socket with unread input resets it, and the
// client might never see the refusal.
constexpr duration linger_time = std::chrono::seconds(1);
// Capacity that is kept from one response to the next.
constexpr std::size_t kept_capacity = 64 * 1024;
constexpr std::string_view continue_line = "HTTP/1.1 100 Continue\r\n\r\n";

/// The deadline of a transfer that has just made progress. Each byte adds time at the minimum rate, so that a transfer of one byte
/// now and then ends; no progress at all for `limit` ends it in any case.
time_point extended(time_point deadline, std::size_t bytes, std::size_t min_rate, time_point now, duration limit) {
    const time_point latest = after(now, limit);
    if (min_rate == 0) return latest;
    const std::chrono::duration<double> gained(static_cast<double>(bytes) / static_cast<double>(min_rate));
    if (gained >= limit) return latest;
    return std::min(latest, after(deadline, std::chrono::duration_cast<duration>(gained)));
}

}  // namespace

http1_core::http1_core(const http1_limits& limits, time_point now, async::spare_buffers* spares)
    : limits_(limits), spares_(spares), reader_(limits.reader, spares), deadline_(after(now, limits.head_time)) {}

// ---- input ----

// A client that sends requests and does not read the responses is not served on and on (J1).
bool http1_core::full() const noexcept {
    return waiting() >= limits_.out_queue && !planted::is(planted::output_limit_ignored);
}

void http1_core::on_input(std::string_view bytes) {
    if (phase_ != phase::reading && !answering()) return;
    if (phase_ == phase::reading && buffered() == 0 && !full()) {
        input_text_ = bytes;
        turn_ = turn::running;
        return;
    }
    if (buffer_at_ > buffer_.size() / 2) buffer_.erase(0, std::exchange(buffer_at_, 0));
    buffer_ += bytes;
    limit_buffer();
}

// Room for one request behind the one that is being answered. More stays in the system's buffers, unless we must see when
// the client ends its output: that comes after everything it has sent.
void http1_core::limit_buffer() {
    const bool over = buffered() >= limits_.reader.max_head + limits_.reader.max_body;
    if (input_ == input::open && over && !planted::is(planted::never_paused)) {
        if (responder_ == responder::cancelled_by_half_close) return close();
        input_ = input::paused;
        decided_ = action::pause_input;
    } else if (input_ == input::paused && !over && !planted::is(planted::never_resumed)) {
        input_ = input::open;
        decided_ = action::resume_input;
    }
}

void http1_core::on_continue() {
    if (turn_ != turn::scheduled) return;
    turn_ = turn::none;
    if (phase_ != phase::reading || full()) return;
    input_text_ = std::string_view(buffer_).substr(buffer_at_);
    turn_ = turn::running;
}

http1_core::action http1_core::read_requests(time_point now) {
    using state = request_reader::state;
    const auto may_read = [this] {
        return phase_ == phase::reading ||
               (planted::is(planted::dispatch_while_responding) && phase_ == phase::responding);
    };
    if (std::exchange(checking_, false)) end_head_check();
    while (!input_text_.empty() && may_read() && !full()) {
        if (reader_.at() == state::complete) reader_.next();  // not before: the application may still look at it
        const bool had_begun = reader_.begun();
        const state before = reader_.at();
        const std::size_t taken = reader_.feed(input_text_, true);
        input_text_.remove_prefix(taken);
        switch (reader_.at()) {
            case state::complete:
                phase_ = phase::responding;
                minor_ = reader_.get().minor;
                head_only_ = reader_.get().method == "HEAD";
                after_ = reader_.get().keep_alive || planted::is(planted::client_keep_alive_ignored) ? phase::reading
                                                                                                     : phase::finishing;
                quiet_since_ = now;
                return action::dispatch;
            case state::refused: return refuse(reader_.why().status, reader_.why().reason);
            case state::body:
                if (before == state::body) {
                    deadline_ = planted::is(planted::slow_body_tolerated)
                                    ? after(now, limits_.body_time)
                                    : extended(deadline_, taken, limits_.min_body_rate, now, limits_.body_time);
                    if (planted::is(planted::continue_sent_twice)) out_ += continue_line;
                    break;
                }
                if (!planted::is(planted::body_timeout_missing)) deadline_ = after(now, limits_.body_time);
                else if (!had_begun) deadline_ = after(now, limits_.head_time);
                if (planted::is(planted::continue_before_check) && reader_.wants_continue()) out_ += continue_line;
                if (planted::is(planted::head_not_checked)) break;
                checking_ = true;
                phase_ = phase::responding;
                after_ = planted::is(planted::refused_body_kept) ? phase::reading : phase::refusing;
                minor_ = reader_.get().minor;
                head_only_ = reader_.get().method == "HEAD";
                return action::check_head;
            case state::head:
                if (!had_begun && reader_.begun()) deadline_ = after(now, limits_.head_time);
                break;
        }
    }
    end_turn();
    return take_decided();
}

// If the application has refused the request, the connection ends: a body that nobody wants is in the way of the next request.
void http1_core::end_head_check() {
    if (phase_ != phase::responding) return;
    phase_ = phase::reading;
    if (reader_.wants_continue() && !planted::is(planted::continue_before_check)) out_ += continue_line;
}

void http1_core::end_turn() {
    turn_ = turn::none;
    const std::string_view rest = std::exchange(input_text_, {});
    if (phase_ != phase::reading && !answering()) {
        drop_buffer();
        reader_.next();  // a request that was refused by its head is incomplete
    } else if (!buffer_.empty()) {
        buffer_at_ = buffer_.size() - rest.size();
        if (rest.empty()) drop_buffer();
    } else if (!rest.empty()) {
        buffer_ = rest;
    }
    if (buffered() > 0 || input_ == input::paused) limit_buffer();
    if (answering()) {
        reader_.release_memory();
        // A dispatch that neither responded nor announced a response would leave the client waiting forever.
        if (responder_ == responder::none) return close();
        // The client had ended its output before this request was dispatched.
        if (input_ == input::ended && responder_ == responder::cancelled_by_half_close) close();
        return;
    }
    if (reader_.at() == request_reader::state::complete) reader_.next();
    if (phase_ == phase::reading && input_ == input::ended && buffered() == 0) phase_ = phase::finishing;
}

void http1_core::drop_buffer() {
    std::string().swap(buffer_);
    buffer_at_ = 0;
}

void http1_core::on_input_end() {
    if (phase_ == phase::closed) return;
    input_ = input::ended;
    switch (phase_) {
        case phase::responding:
        case phase::streaming:
            if (planted::is(planted::half_close_ignored)) break;
            if (responder_ == responder::cancelled_by_half_close || planted::is(planted::half_close_always_cancels)) {
                close();
            }
            break;
        case phase::reading:
            // Buffered requests are still answered. Nothing of an incomplete request is kept (E14).
            if (buffered() == 0 || planted::is(planted::half_close_drops_requests)) phase_ = phase::finishing;
            break;
        case phase::lingering: close(); break;
        default: break;
    }
}

http1_core::action http1_core::refuse(int status, const char* reason) noexcept {
    phase_ = phase::responding;
    after_ = phase::refusing;
    minor_ = 1;
    head_only_ = false;
    refusal_ = {status, reason};
    return action::refuse;
}

// ---- actions ----

http1_core::action http1_core::take_decided() noexcept {
    const action a = std::exchange(decided_, action::none);
    if (a == action::tell_gone) {
        decided_ = action::close;
        if (planted::is(planted::responder_told_twice) && responder_ != responder::none) decided_ = action::tell_gone;
        responder_ = responder::none;
    }
    return a;
}

http1_core::action http1_core::next(time_point now) {
    if (decided_ != action::none) return take_decided();
    if (phase_ == phase::closed) return action::none;
    if (turn_ == turn::running) {
        if (const action a = read_requests(now); a != action::none) return a;
    }
    return next_output(now);
}

http1_core::action http1_core::next_output(time_point now) {
    if (waiting() > 0 && !(planted::is(planted::closed_before_written) && phase_ == phase::finishing)) {
        if (!blocked_) return action::write;
    } else if (phase_ == phase::finishing) {
        close();
        return take_decided();
    } else if (phase_ == phase::refusing && input_ == input::ended) {
        close();
        return take_decided();
    } else if (phase_ == phase::refusing) {
        phase_ = phase::lingering;
        deadline_ = after(now, linger_time);
        if (planted::is(planted::refusal_closes_at_once)) {
            close();
            return take_decided();
        }
        return action::end_output;
    } else if (phase_ == phase::reading && retired_ && !reader_.begun() && buffered() == 0) {
        close();
        return take_decided();
    }
    if (phase_ == phase::reading && turn_ == turn::none && buffered() > 0 && !full() &&
        !planted::is(planted::buffered_input_forgotten)) {
        turn_ = turn::scheduled;
        return action::continue_later;
    }
    return action::none;
}

// The request of the application, whose views may point into buffers, may still be in use: nothing is released here.
void http1_core::close() noexcept {
    if (phase_ == phase::closed) return;
    phase_ = phase::closed;
    const bool tell = responder_ != responder::none && !planted::is(planted::responder_not_told);
    decided_ = tell ? action::tell_gone : action::close;
}

// ---- output ----

void http1_core::on_written(std::size_t bytes, time_point now) {
    written_ += bytes;
    blocked_ = waiting() > 0;
    if (blocked_) {
        if (bytes > 0 || stall_deadline_ == time_point::max() || planted::is(planted::stall_timeout_restarts)) {
            const bool first = stall_deadline_ == time_point::max() || planted::is(planted::stall_timeout_restarts) ||
                               planted::is(planted::slow_reader_tolerated);
            stall_deadline_ = first ? after(now, limits_.write_stall)
                                    : extended(stall_deadline_, bytes, limits_.min_read_rate, now, limits_.write_stall);
        }
    } else {
        if (!planted::is(planted::stall_timeout_not_cleared)) stall_deadline_ = time_point::max();
        if (out_.capacity() > kept_capacity) async::give_back(out_, spares_);
        else if (streaming()) std::string().swap(out_);
        else out_.clear();
        written_ = 0;
        if (phase_ == phase::reading && !reader_.begun()) deadline_ = after(now, limits_.idle_time);
    }
    if (bytes > 0 && responder_ != responder::none) decided_ = action::tell_drained;
}

void http1_core::on_writable() {
    blocked_ = false;
    // Moving the rest costs more than the memory, unless most is written.
    if (written_ <= kept_capacity || written_ < waiting()) return;
    out_.erase(0, written_);
    written_ = 0;
}

/// Decides whether the connection stays open after the response whose head is about to be written.
bool http1_core::keeps_alive() noexcept {
    if (retired_ && after_ == phase::reading && !planted::is(planted::retire_ignored_by_response)) {
        after_ = phase::finishing;
    }
    return after_ == phase::reading;
}

void http1_core::replace_responder() noexcept {
    responder_ = responder::none;
    if (after_ == phase::reading) after_ = phase::finishing;
}

void http1_core::respond(int status, std::string_view content_type, std::string_view body,
                         std::initializer_list<std::string_view> header_lines, time_point now) {
    if (phase_ != phase::responding) return;
    begin_response(out_, status, minor_, keeps_alive());
    for (std::string_view lines : header_lines) out_ += lines;
    if (!content_type.empty()) add_content_type(out_, content_type);
    const bool has_body = status >= 200 && status != 204 && status != 304;
    if (has_body) add_content_length(out_, body.size());
    end_head(out_);
    if (has_body && !head_only_) out_ += body;
    complete_response(now);
}

std::string& http1_core::begin_json(int status, std::string_view header_lines, std::size_t size) {
    constexpr std::size_t around = 1024;  // of the head and the JSON-RPC response
    const std::size_t used = out_.size();
    const std::size_t needed = used + size + header_lines.size() + around;
    if (size > 0 && needed > out_.capacity()) {
        async::enlarge(out_, used, needed, spares_);
        out_.resize(used);
    }
    slot_ = http::begin_json(out_, status, minor_, keeps_alive(), header_lines);
    return out_;
}

void http1_core::end_json(time_point now) {
    http::end_json(out_, slot_);
    complete_response(now);
}

void http1_core::open_stream(std::initializer_list<std::string_view> header_lines) {
    // The end of a stream over HTTP/1.0 is the end of the connection.
    if (!chunked() && !planted::is(planted::http10_stream_kept_open)) after_ = phase::finishing;
    begin_response(out_, 200, minor_, keeps_alive());
    add_content_type(out_, "text/event-stream");
    out_ += "Cache-Control: no-cache, no-transform\r\nX-Accel-Buffering: no\r\n";
    for (std::string_view lines : header_lines) out_ += lines;
    if (chunked()) out_ += "Transfer-Encoding: chunked\r\n";
    end_head(out_);
    phase_ = phase::streaming;
}

std::string& http1_core::begin_events() {
    if (chunked()) slot_ = begin_chunk(out_);
    return out_;
}

void http1_core::end_events(time_point now) {
    if (chunked()) end_chunk(out_, slot_);
    quiet_since_ = now;
}

void http1_core::end_stream(time_point now) {
    if (chunked() && !planted::is(planted::last_chunk_missing)) append_last_chunk(out_);
    complete_response(now);
}

void http1_core::complete_response(time_point now) {
    responder_ = responder::none;
    phase_ = after_;
    if (phase_ == phase::reading) deadline_ = after(now, limits_.idle_time);
    if (turn_ == turn::running) return;  // end_turn() does the rest; the application may still look at the request
    reader_.next();
    if (phase_ == phase::reading && input_ == input::ended && buffered() == 0) phase_ = phase::finishing;
    if (phase_ == phase::reading) return;
    drop_buffer();
    limit_buffer();
}

// ---- time ----

void http1_core::on_time(time_point now) {
    if (phase_ == phase::closed) return;
    if (now >= stall_deadline_) return close();
    if (phase_ == phase::lingering && now >= deadline_) return close();
    if (phase_ == phase::reading && now >= deadline_ &&
        (waiting() == 0 || planted::is(planted::timeout_ignores_output)) &&
        (buffered() == 0 || planted::is(planted::idle_timeout_drops_buffered))) {
        if (!reader_.begun()) return close();
        decided_ = refuse(408, "the request did not arrive in time");
        return;
    }
    if (responder_ == responder::none || now - quiet_since_ < limits_.keep_alive) return;
    if (!planted::is(planted::quiet_not_reset)) quiet_since_ = now;
    if (!streaming()) {
        decided_ = action::tell_quiet;
    } else if (waiting() == 0) {
        append_comment(begin_events());
        end_events(now);
    }
}

}  // namespace keel::http
