#pragma once

// A connection whose other end is the test: the test determines what is read, how much of a write is accepted, and how
// either direction fails. Callbacks of the listener run in a turn of the loop, as keel::connection requires; reads keep
// their order on a shuffled loop.

#include <keel/connection.hpp>
#include <keel/loop.hpp>

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::test {

/// The test's end. Shared with the connection, which the peer may destroy earlier.
class script : public std::enable_shared_from_this<script> {
public:
    explicit script(std::shared_ptr<keel::loop> loop) : loop_(std::move(loop)) {}

    /// Creates the connection for the peer. Must be called once.
    std::unique_ptr<connection> open();

    // ---- input of the peer under test ----

    /// One piece, as from one read of the system.
    void feed(std::string bytes) { read({.what = kind::bytes, .text = std::move(bytes)}); }
    void eof() { read({.what = kind::end, .text = {}}); }
    void fail_read(int error_number) { read({.what = kind::failure, .text = std::strerror(error_number)}); }
    /// The other side has closed its read end. Detected even while reading is paused, before unread input.
    void hangup() {
        loop_->post([self = shared_from_this()] {
            if (self->listening()) self->listener_->on_failure("the peer closed the connection");
        });
    }

    // ---- its output ----

    /// Accepts no more bytes.
    void stall() { room_ = 0; }
    /// Accepts `n` more bytes, then none.
    void accept(std::size_t n) {
        room_ = n;
        tell_writable();
    }
    void resume() { accept(unlimited); }
    /// The write that would exceed `n` more bytes fails.
    void fail_write_after(std::size_t n, int error_number) {
        fail_after_ = n;
        write_failure_ = std::strerror(error_number);
        tell_writable();
    }

    // ---- observations ----

    /// All bytes that were accepted since the last take.
    const std::string& output() const noexcept { return output_; }
    std::string take_output() { return std::exchange(output_, {}); }
    /// Counts output without keeping it, for millions of messages.
    void discard_output() noexcept { discard_ = true; }
    std::size_t bytes_taken() const noexcept { return taken_; }
    std::size_t writes() const noexcept { return writes_; }
    /// How often expect_more_input was called.
    std::size_t more_expected() const noexcept { return hints_; }
    bool started() const noexcept { return listener_ != nullptr; }
    bool closed() const noexcept { return closed_; }
    bool destroyed() const noexcept { return destroyed_; }
    bool paused() const noexcept { return paused_; }
    /// Pieces that were not read because reading is paused.
    std::size_t unread() const noexcept { return input_.size(); }

private:
    class end;

    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
    enum class kind : unsigned char { bytes, end, failure };
    struct piece {
        kind what;
        std::string text;
    };

    bool listening() const noexcept { return listener_ && !closed_ && !over_; }

    void read(piece p) {
        input_.push_back(std::move(p));
        post_read();
    }
    void post_read() {
        loop_->post([self = shared_from_this()] { self->read_one(); });
    }
    void read_one() {
        // Several turns may be posted; each takes the first piece, so that a shuffle cannot reorder the stream.
        if (!listening() || paused_ || ended_ || input_.empty()) return;
        piece p = std::move(input_.front());
        input_.pop_front();
        switch (p.what) {
            case kind::bytes: return listener_->on_input(p.text);
            case kind::end: ended_ = true; return listener_->on_input_end();
            case kind::failure: over_ = true; return listener_->on_failure(p.text);
        }
    }

    connection::written write(std::string_view bytes) {
        ++writes_;
        if (closed_) return {.bytes = 0, .failure = "closed"};
        std::size_t n = std::min(bytes.size(), std::min(room_, fail_after_));
        if (n == 0 && fail_after_ == 0 && room_ > 0) {
            over_ = true;
            return {.bytes = 0, .failure = write_failure_};
        }
        taken_ += n;
        if (!discard_) output_.append(bytes.substr(0, n));
        if (room_ != unlimited) room_ -= n;
        if (fail_after_ != unlimited) fail_after_ -= n;
        cut_short_ = n < bytes.size();
        if (cut_short_ && room_ > 0) tell_writable();  // so that the failure is reported next
        return {.bytes = n, .failure = {}};
    }
    void tell_writable() {
        if (!cut_short_ || room_ == 0) return;
        cut_short_ = false;
        loop_->post([self = shared_from_this()] {
            if (self->listening()) self->listener_->on_writable();
        });
    }

    const std::shared_ptr<keel::loop> loop_;
    connection::listener* listener_ = nullptr;
    std::deque<piece> input_;
    std::string output_;
    std::size_t room_ = unlimited;
    std::size_t fail_after_ = unlimited;
    std::string write_failure_;
    std::size_t taken_ = 0;
    std::size_t writes_ = 0;
    std::size_t hints_ = 0;
    bool discard_ = false;
    bool cut_short_ = false;
    bool paused_ = false;
    bool ended_ = false;  // end of input was reported
    bool over_ = false;   // a failure was reported
    bool closed_ = false;
    bool destroyed_ = false;
};

class script::end final : public connection {
public:
    explicit end(std::shared_ptr<script> s) : script_(std::move(s)) {}
    ~end() override {
        close();
        script_->destroyed_ = true;
    }

    void start(listener& l) override {
        script_->listener_ = &l;
        for (std::size_t i = 0; i < script_->input_.size(); ++i) script_->post_read();
    }
    written write(std::string_view bytes) override { return script_->write(bytes); }
    void pause() noexcept override { script_->paused_ = true; }
    void resume() override {
        script_->paused_ = false;
        for (std::size_t i = 0; i < script_->input_.size(); ++i) script_->post_read();
    }
    void expect_more_input() noexcept override { ++script_->hints_; }
    void close() noexcept override { script_->closed_ = true; }
    std::string describe() const override { return "script"; }

private:
    std::shared_ptr<script> script_;
};

inline std::unique_ptr<connection> script::open() { return std::make_unique<end>(shared_from_this()); }

}  // namespace keel::test
