// The model: the results that the events so far must have.

#include "explore_http/world.hpp"

#include "http/response_head.hpp"
#include "http/sse_writer.hpp"

#include <algorithm>

namespace keel::explore_http {

namespace {

constexpr duration linger_time = std::chrono::seconds(1);
constexpr std::string_view continue_line = "HTTP/1.1 100 Continue\r\n\r\n";

std::string number_line(std::size_t index) { return "X-Number: " + std::to_string(index) + "\r\n"; }

}  // namespace

/// Whether the response that begins now is the last one of this connection.
bool world::last(bool http10_stream) {
    if (current().close || retired_ || http10_stream) no_more_ = true;
    return no_more_;
}

std::size_t world::complete_requests() const noexcept {
    auto at = std::upper_bound(setting_.ends.begin(), setting_.ends.end(), sent_);
    return static_cast<std::size_t>(at - setting_.ends.begin());
}

/// The core has processed some bytes of a request, but not all.
bool world::partial_request() const noexcept { return processed_ > start_of_next(); }

void world::expect_head(int status, bool keep_alive, unsigned minor) {
    http::begin_response(expected_, status, minor, keep_alive);
}

void world::expect_response(int status, std::string_view body) {
    expect_head(status, !last(), current().http10 ? 0 : 1);
    expected_ += number_line(dispatched_ - 1);
    http::add_content_type(expected_, "text/plain");
    http::add_content_length(expected_, body.size());
    http::end_head(expected_);
    if (!current().head) expected_ += body;
}

void world::expect_chunk(std::string_view text) {
    if (current().http10) {
        expected_ += text;
        return;
    }
    const std::size_t slot = http::begin_chunk(expected_);
    expected_ += text;
    http::end_chunk(expected_, slot);
}

void world::response_complete() {
    outstanding_ = streaming_ = announced_ = false;
    idle_since_ = now_;
}

/// Output that the core adds itself: "100 Continue" and keep-alive comments on an idle stream.
void world::note_continue() {
    const std::size_t queued = core_.waiting();
    const std::size_t known = expected_.size() - written_;
    if (queued == known || closed_) return;
    const std::string_view added = core_.unwritten().substr(std::min(known, queued));
    if (added == continue_line) {
        const std::size_t index = dispatched_;
        require(!outstanding_ && index < setting_.requests.size() && setting_.requests[index].expect,
                "100 Continue that nobody waits for");
        require(!continued_[index], "100 Continue was sent twice");
        continued_[index] = true;
        expected_ += continue_line;
        return;
    }
    const auto quiet = quiet_due();
    require(streaming_ && known == 0 && quiet && now_ >= *quiet, "output that nobody asked for");
    std::string comment;
    http::append_comment(comment);
    expect_chunk(comment);
    require(added == expected_.substr(written_), "output that nobody asked for");
    quiet_since_ = now_;
}

/// The start of the deadlines: bytes that are buffered behind a response are processed later than they are sent.
void world::note_processed() {
    if (no_more_ || refused_) return;
    const std::size_t now_processed = sent_ - core_.buffered();
    const std::size_t start = start_of_next();
    if (now_processed > start) {
        if (processed_ <= start) head_since_ = now_;
        const std::size_t head_end = setting_.head_ends[dispatched_];
        if (now_processed >= head_end) {
            if (processed_ < head_end) body_due_ = now_ + limits_.body_time;
            transfer_progress(body_due_, now_processed - std::max(processed_, head_end), limits_.body_time);
        }
    }
    processed_ = now_processed;
}

/// Each byte gains time at the minimum rate, but never more than `limit` from now.
void world::transfer_progress(time_point& due, std::size_t bytes, duration limit) const noexcept {
    if (bytes > 0) due = std::min(due + std::chrono::seconds(bytes / bytes_per_second), now_ + limit);
}

std::optional<time_point> world::stall_due() const noexcept {
    if (closed_ || !stalled_) return std::nullopt;
    return stall_due_;
}

std::optional<time_point> world::read_due() const noexcept {
    if (closed_ || outstanding_) return std::nullopt;
    if (output_ended_) return linger_since_ + linger_time;
    if (refused_ || no_more_ || !all_written() || core_.buffered() > 0) return std::nullopt;
    if (partial_request()) {
        return processed_ >= setting_.head_ends[dispatched_] ? body_due_ : head_since_ + limits_.head_time;
    }
    return idle_since_ + (dispatched_ == 0 ? limits_.head_time : limits_.idle_time);
}

std::optional<time_point> world::quiet_due() const noexcept {
    if (closed_ || !outstanding_ || !announced_) return std::nullopt;
    return quiet_since_ + limits_.keep_alive;
}

std::optional<time_point> world::next_due() const noexcept {
    std::optional<time_point> next;
    for (auto due : {stall_due(), read_due(), quiet_due()}) {
        if (due && (!next || *due < *next)) next = due;
    }
    return next;
}

bool world::must_be_closed() const noexcept {
    if (broken_off_ || timed_out_) return true;
    if (outstanding_) {
        const reply how = current().reply;
        if (how == reply::forgets) return true;
        // If the buffer exceeded its limit, the end of the client's output could not be detected any more.
        return how == reply::later_cancellable && (half_closed_ || core_.buffered() >= buffer_limit());
    }
    if (!all_written()) return false;
    if (refused_) return half_closed_;
    if (no_more_) return true;
    if (half_closed_) return dispatched_ == complete_requests() && core_.buffered() == 0;
    return retired_ && sent_ == start_of_next();
}

void world::check() {
    if (closed_) {
        require(must_be_closed(), "the connection was closed for no reason");
        return;
    }
    note_processed();
    require(!must_be_closed(), "the connection was not closed");
    require(core_.answering() == outstanding_ && core_.streaming() == streaming_, "the phase differs");
    require(core_.waiting() == expected_.size() - written_, "output is missing");
    require(core_.waiting() == 0 || room_ == 0, "output was not written");
    if (refused_ && all_written()) require(output_ended_, "the output was not ended after a refusal");
    const bool reads = !outstanding_ && !no_more_ && !refused_;
    if (reads && core_.waiting() < limits_.out_queue) {
        require(core_.buffered() == 0 || posted_ == 1, "buffered input was forgotten");
        require(posted_ == 1 || dispatched_ == complete_requests(), "a complete request was not dispatched");
    }
    if (reads && !setting_.requests.empty() && processed_ > start_of_next() &&
        processed_ >= setting_.head_ends[dispatched_]) {
        require(checked_[dispatched_], "the application has not seen the head of a request whose body is being read");
    }
    if (!half_closed_) {
        require(paused_ == (core_.buffered() >= buffer_limit()),
                paused_ ? "input stays paused" : "too much input is buffered");
    }
    for (std::size_t i = 0; i < setting_.requests.size(); ++i) {
        if (!setting_.requests[i].expect || i != dispatched_ || !reads) continue;
        if (sent_ == setting_.head_ends[i] && core_.buffered() == 0) {
            require(continued_[i], "the client waits for 100 Continue");
        }
    }
}

// ---- the end ----

void world::run_to_end(unsigned finale) {
    if (setting_.lazy_flush && !closed_) settle();
    const auto happen = [this](event e) {
        if (!enabled(e)) return false;
        apply(e);
        return true;
    };
    const auto answer_something = [&] {
        if (happen(event::unblock) || happen(event::run_posted)) return true;
        if (happen(event::end_stream) || happen(event::respond)) {
            if (setting_.lazy_flush) settle();
            return true;
        }
        return finale == 0 &&
               (happen(event::send_everything) || happen(event::send_request) || happen(event::send_piece));
    };
    switch (finale) {
        case 1: happen(event::disconnect); break;
        case 2: happen(event::half_close); break;
        case 3: happen(event::retire); break;
        default: break;
    }
    for (unsigned n = 0; finale < 4 && answer_something(); ++n)
        require(n < 200, "the connection does not come to rest");
    if (!closed_ && finale < 4) {
        require(!core_.answering(), "a response is missing");
        require(all_written(), "output was not written");
        if (!no_more_ && !refused_) require(dispatched_ == complete_requests(), "a request was not answered");
    }
    // A response may take as long as the application likes; everything else ends by a timeout.
    for (unsigned n = 0; !closed_; ++n) {
        require(n < 100, "the connection is never closed");
        if (happen(event::run_posted)) continue;
        if (!(outstanding_ && n > 8) && happen(event::tick)) continue;
        happen(event::disconnect);
    }
    // Events and responses that come too late.
    const std::size_t waiting = core_.waiting();
    core_.on_input("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    core_.on_continue();
    core_.on_input_end();
    core_.on_writable();
    core_.on_time(now_ + std::chrono::hours(1));
    core_.retire();
    core_.close();
    core_.respond(200, {}, {}, {}, now_);
    require(core_.next(now_) == action::none, "an action after close");
    require(core_.waiting() <= waiting, "output after close");
}

}  // namespace keel::explore_http
