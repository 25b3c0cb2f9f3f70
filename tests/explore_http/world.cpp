#include "explore_http/world.hpp"

#include "http/response_head.hpp"
#include "http/sse_writer.hpp"

#include <algorithm>

namespace keel::explore_http {

namespace {

using namespace std::chrono_literals;
using http::http1_core;

constexpr std::string_view text_type = "text/plain";
constexpr duration step = 3s;  // of pass_time

// The times differ, so that each deadline is the next one in some ordering.
http::http1_limits limits_for(const setting& s) {
    http::http1_limits l{.head_time = 5s,
                         .body_time = 7s,
                         .idle_time = 11s,
                         .write_stall = 6s,
                         .min_body_rate = bytes_per_second,
                         .min_read_rate = bytes_per_second,
                         .keep_alive = 4s};
    l.reader.max_head = s.tight_input ? 100 : 4096;
    l.reader.max_body = 16;
    l.out_queue = s.tight_output ? 1 : 1024 * 1024;
    return l;
}

std::string bytes_of(const request_plan& r, std::size_t index) {
    std::string out = r.head ? "HEAD /" : r.body.empty() ? "GET /" : "POST /";
    out += std::to_string(index);
    out += r.http10 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n";
    if (r.reply != reply::invalid) out += "Host: h\r\n";  // HTTP/1.1 requires it
    if (r.close) out += "Connection: close\r\n";
    if (r.http10 && !r.close) out += "Connection: keep-alive\r\n";
    if (r.expect) out += "Expect: 100-continue\r\n";
    if (!r.body.empty()) out += "Content-Length: " + std::to_string(r.body.size()) + "\r\n";
    return out + "\r\n";
}

std::string number_line(std::size_t index) { return "X-Number: " + std::to_string(index) + "\r\n"; }

}  // namespace

setting prepared(setting s) {
    for (std::size_t i = 0; i < s.requests.size(); ++i) {
        const request_plan& r = s.requests[i];
        s.cuts.push_back(s.bytes.size() + 3);
        s.bytes += bytes_of(r, i);
        s.head_ends.push_back(s.bytes.size());
        if (!r.body.empty()) {
            s.cuts.push_back(s.bytes.size());
            s.cuts.push_back(s.bytes.size() + 1);
        }
        s.bytes += r.body;
        s.ends.push_back(s.bytes.size());
        s.cuts.push_back(s.bytes.size());
    }
    return s;
}

std::string_view name_of_finale(unsigned finale) {
    switch (finale) {
        case 0: return "then the client stays until everything is answered";
        case 1: return "then the client disconnects";
        case 2: return "then the client ends its output and reads on";
        case 3: return "then the server stops";
        default: return "then nobody does anything any more";
    }
}

world::world(const setting& s)
    : setting_(s), limits_(limits_for(s)), now_(time_point() + 1h), core_(limits_, now_), continued_(s.requests.size()),
      checked_(s.requests.size()), idle_since_(now_) {}

void world::broken(std::string why) const { throw violation{std::move(why)}; }

// ---- possible events ----

bool world::enabled(event e) const {
    if (closed_) return false;
    const bool can_send = !half_closed_ && !paused_ && !broken_off_ && sent_ < setting_.bytes.size();
    const auto next = [&](const std::vector<std::size_t>& places) {
        auto at = std::upper_bound(places.begin(), places.end(), sent_);
        return at == places.end() ? setting_.bytes.size() : *at;
    };
    switch (e) {
        case event::send_piece: return can_send;
        case event::send_request: return can_send && next(setting_.ends) != next(setting_.cuts);
        case event::send_everything: return can_send && next(setting_.ends) != setting_.bytes.size();
        case event::half_close: return !half_closed_ && !paused_;
        case event::disconnect: return true;
        case event::block: return room_ > 0;
        case event::take_a_byte: return room_ == 0 && core_.waiting() > 0;
        case event::wake:
        case event::unblock: return room_ == 0;
        case event::fail_writes: return !writes_fail_;
        case event::respond:
        case event::open_stream: return outstanding_ && !streaming_;
        case event::send_events:
        case event::end_stream: return streaming_;
        case event::drop_connection: return outstanding_;
        case event::run_posted: return posted_ > 0;
        case event::retire: return !retired_;
        case event::tick: return true;
        case event::pass_time: return next_due() && *next_due() > now_ + step;
    }
    return false;
}

void world::offer(events& out) const {
    out.clear();
    for (unsigned i = 0; i < kinds_of_events; ++i) {
        if (event e = static_cast<event>(i); enabled(e)) out.push_back(e);
    }
}

void world::apply(event e) {
    const bool of_application =
        e == event::respond || e == event::open_stream || e == event::send_events || e == event::end_stream;
    progress_ = false;
    if (setting_.lazy_flush && !of_application) {
        settle();
        if (!enabled(e)) return;
    }
    do_event(e);
    if (setting_.lazy_flush && of_application) return;
    settle();
}

void world::settle() {
    run();
    check();
}

void world::send_to(std::size_t offset) {
    incoming_ = setting_.bytes.substr(sent_, offset - sent_);
    sent_ = offset;
    core_.on_input(incoming_);
    run();
    std::string().swap(incoming_);
}

void world::do_event(event e) {
    const auto next = [&](const std::vector<std::size_t>& places) {
        return *std::upper_bound(places.begin(), places.end(), sent_);
    };
    switch (e) {
        case event::send_piece: return send_to(next(setting_.cuts));
        case event::send_request: return send_to(next(setting_.ends));
        case event::send_everything: return send_to(setting_.bytes.size());
        case event::half_close: half_closed_ = true; return core_.on_input_end();
        case event::disconnect:
        case event::drop_connection: broken_off_ = true; return core_.close();
        case event::block: room_ = 0; return;
        case event::take_a_byte: room_ = 1; return core_.on_writable();
        case event::wake: return core_.on_writable();
        case event::unblock: room_ = SIZE_MAX; return core_.on_writable();
        case event::fail_writes: writes_fail_ = true; return;
        case event::respond: {
            const std::string text = "late " + std::to_string(++numbered_);
            const std::size_t index = dispatched_ - 1;
            expect_response(200, text);
            core_.respond(200, text_type, text, {number_line(index)}, now_);
            return response_complete();
        }
        case event::open_stream: {
            const unsigned minor = current().http10 ? 0 : 1;
            expect_head(200, !last(minor == 0), minor);
            http::add_content_type(expected_, "text/event-stream");
            expected_ += "Cache-Control: no-cache, no-transform\r\nX-Accel-Buffering: no\r\n";
            expected_ += number_line(dispatched_ - 1);
            if (minor == 1) expected_ += "Transfer-Encoding: chunked\r\n";
            http::end_head(expected_);
            streaming_ = true;
            return core_.open_stream({number_line(dispatched_ - 1)});
        }
        case event::send_events: {
            const std::string text = "data: " + std::to_string(++numbered_) + "\n\n";
            expect_chunk(text);
            core_.begin_events() += text;
            core_.end_events(now_);
            quiet_since_ = now_;
            return;
        }
        case event::end_stream:
            if (!current().http10) http::append_last_chunk(expected_);
            core_.end_stream(now_);
            return response_complete();
        case event::run_posted: --posted_; return core_.on_continue();
        case event::retire: retired_ = true; return core_.retire();
        case event::tick: return tick();
        case event::pass_time:
            now_ += step;
            core_.on_time(now_);
            require(core_.next(now_) == action::none, "a timeout fired before its deadline");
            return;
    }
}

/// Nothing may happen one moment before the deadline, and nothing at all without a deadline.
void world::tick() {
    const time_point due = next_due().value_or(now_ + 1h);
    if (due > now_) {
        now_ = due - 1ns;
        core_.on_time(now_);
        require(core_.next(now_) == action::none && core_.waiting() == expected_.size() - written_,
                "a timeout fired before its deadline");
        now_ = due;
    }
    if (auto stall = stall_due(); stall && now_ >= *stall) timed_out_ = true;
    if (auto read = read_due(); !timed_out_ && read && now_ >= *read) {
        if (output_ended_ || !partial_request()) timed_out_ = true;
        else refusal_due_ = true;
    }
    const unsigned quiet_before = told_quiet_;
    const auto quiet = quiet_due();
    const bool comment_due = streaming_ && all_written();
    const std::size_t expected_before = expected_.size();
    core_.on_time(now_);
    run();
    require(!refusal_due_, "an incomplete request was not refused at its deadline");
    if (timed_out_ || !quiet || now_ < *quiet) return;
    quiet_since_ = now_;
    if (!streaming_) {
        require(told_quiet_ == quiet_before + 1, "the responder was not told that the connection is quiet");
    } else {
        require(told_quiet_ == quiet_before, "the responder of an open stream was told that the connection is quiet");
        require(!comment_due || expected_.size() > expected_before, "no comment on a quiet stream");
    }
}

// ---- the driver ----

void world::run() {
    for (unsigned n = 0;; ++n) {
        require(n < 200, "the actions do not end");
        note_continue();
        const action a = core_.next(now_);
        note_continue();
        if (a == action::none) return;
        require(!closed_, "an action after close");
        carry_out(a);
    }
}

void world::carry_out(action a) {
    switch (a) {
        case action::none: break;
        case action::check_head: return check_head();
        case action::dispatch: return dispatch();
        case action::refuse: {
            require(!outstanding_, "a refusal while a response is outstanding");
            require(!no_more_ && !refused_, "a refusal after the last response");
            const int status = core_.refusal().status;
            if (refusal_due_) require(status == 408, "a timeout was refused with another status than 408");
            else
                require(complete_requests() > dispatched_ && setting_.requests[dispatched_].reply == reply::invalid,
                        "a valid request was refused");
            refusal_due_ = false;
            refused_ = no_more_ = true;
            http::begin_response(expected_, status, 1, false);
            http::add_content_length(expected_, 0);
            http::end_head(expected_);
            core_.respond(status, {}, {}, {}, now_);
            return;
        }
        case action::write: return write();
        case action::pause_input:
            require(!paused_, "input was paused twice");
            require(core_.buffered() >= buffer_limit(), "input was paused too early");
            paused_ = true;
            return;
        case action::resume_input:
            require(paused_, "input was resumed but not paused");
            paused_ = false;
            return;
        case action::continue_later:
            require(++posted_ == 1, "two turns are posted");
            require(core_.buffered() > 0, "a turn was posted without buffered input");
            return;
        case action::tell_drained:
            require(outstanding_ && announced_ && !in_dispatch_, "drained: nobody to tell");
            require(progress_, "drained: the client has taken nothing");
            return;
        case action::tell_quiet:
            require(outstanding_ && announced_ && !streaming_, "quiet: nobody to tell");
            ++told_quiet_;
            return;
        case action::end_output:
            require(!output_ended_, "the output was ended twice");
            require(refused_ && all_written(), "the output was ended before the refusal was written");
            output_ended_ = true;
            linger_since_ = now_;
            return;
        case action::tell_gone:
            require(outstanding_ && announced_, "gone: nobody to tell");
            require(++told_gone_ == 1, "the responder was told twice that the client is gone");
            return;
        case action::close:
            require(told_gone_ == (outstanding_ && announced_ ? 1u : 0u),
                    "the responder does not know that the client is gone");
            require(core_.closed(), "close without the phase closed");
            closed_ = true;
            return;
    }
}

void world::write() {
    const std::string_view bytes = core_.unwritten();
    require(!bytes.empty(), "an empty write");
    require(!output_ended_, "a write after the end of the output");
    if (writes_fail_) {
        broken_off_ = true;
        return core_.close();
    }
    require(std::string_view(expected_).substr(written_) == bytes, "the output differs from the responses");
    const std::size_t taken = std::min(room_, bytes.size());
    if (room_ != SIZE_MAX) room_ -= taken;
    written_ += taken;
    progress_ = progress_ || taken > 0;
    if (taken < bytes.size()) {
        if (stalled_) transfer_progress(stall_due_, taken, limits_.write_stall);
        else stall_due_ = now_ + limits_.write_stall;
        stalled_ = true;
    } else {
        stalled_ = false;
        idle_since_ = now_;
    }
    core_.on_written(taken, now_);
}

/// The head of a request whose body has not arrived, or not as a whole.
void world::check_head() {
    require(!outstanding_ && !no_more_ && !refused_ && !broken_off_, "a head was checked at the wrong time");
    const request_plan& r = setting_.requests[dispatched_];
    require(!checked_[dispatched_], "a head was checked twice");
    require(!continued_[dispatched_], "100 Continue was sent before the head was checked");
    require(!r.body.empty() && sent_ >= setting_.head_ends[dispatched_], "a head was checked before it was complete");
    require(core_.current().target == "/" + std::to_string(dispatched_), "heads were checked out of order");
    checked_[dispatched_] = true;
    if (r.reply != reply::refused_by_head) return;
    refused_ = no_more_ = true;
    http::begin_response(expected_, 401, 1, false);
    http::add_content_length(expected_, 0);
    http::end_head(expected_);
    core_.respond(401, {}, {}, {}, now_);
}

void world::dispatch() {
    require(!outstanding_, "a request was dispatched before the previous response was complete");
    require(!no_more_ && !refused_, "a request was dispatched after the last response");
    require(!broken_off_, "a request was dispatched after the client was gone");
    require(core_.waiting() < limits_.out_queue, "a request was dispatched although the client reads nothing");
    require(dispatched_ < complete_requests(), "a request was dispatched before it was complete");
    const std::size_t index = dispatched_++;
    const request_plan& r = setting_.requests[index];
    require(r.reply != reply::invalid, "an invalid request was dispatched");
    require(core_.current().target == "/" + std::to_string(index), "requests were dispatched out of order");
    require(core_.current().body == r.body, "the body differs");
    outstanding_ = true;
    streaming_ = announced_ = false;
    quiet_since_ = now_;
    in_dispatch_ = true;
    switch (r.reply) {
        case reply::refused_by_head:
            require(!checked_[index], "a request was dispatched after it was refused");
            [[fallthrough]];
        case reply::at_once:
            expect_response(200, "now");
            core_.respond(200, text_type, "now", {number_line(index)}, now_);
            response_complete();
            break;
        case reply::json_at_once:
            http::end_json(expected_, [&] {
                const std::size_t slot =
                    http::begin_json(expected_, 200, r.http10 ? 0 : 1, !last(), number_line(index));
                expected_ += "{}";
                return slot;
            }());
            core_.begin_json(200, number_line(index)) += "{}";
            core_.end_json(now_);
            response_complete();
            break;
        case reply::later:
            core_.expect_response(core_type::responder::ignores_half_close);
            announced_ = true;
            break;
        case reply::later_cancellable:
            core_.expect_response(core_type::responder::cancelled_by_half_close);
            announced_ = true;
            break;
        case reply::fails:
            core_.expect_response(core_type::responder::ignores_half_close);
            core_.replace_responder();
            no_more_ = true;
            expect_response(500, "failed");
            core_.respond(500, text_type, "failed", {number_line(index)}, now_);
            response_complete();
            break;
        case reply::forgets:
        case reply::invalid: break;
    }
    require(core_.current().target == "/" + std::to_string(index), "the request vanished during its dispatch");
    in_dispatch_ = false;
}

}  // namespace keel::explore_http
