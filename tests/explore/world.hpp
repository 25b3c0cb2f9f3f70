#pragma once

// A peer_core together with everything around it (peer, handlers, writer, clock) and a model of the state that the
// rules require. The model does not depend on how the core works: it has the four-valued cell of docs/lifecycle.md for
// each request, and the order in which a connection ends.

#include "explore/event.hpp"
#include "rpc/byte_stream_sink.hpp"
#include "rpc/peer_core.hpp"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace keel::explore {

/// A rule was violated.
struct violation {
    std::string what;
};

struct setting {
    std::string_view name = "plain";
    rpc::role role = rpc::role::server;
    duration drain_on_eof{};
    duration request_idle = std::chrono::seconds(5);
    bool tight = false;         // any queued byte exceeds the limit: progress is coalesced, logs are dropped (J1)
    bool shield_first = false;  // the first request is `initialize` (B10)
    std::size_t max_in_flight = 256;
};

/// How an ordering ends after its last event.
inline constexpr unsigned finales = 10;
std::string name_of_finale(unsigned);

class world {
public:
    explicit world(const setting&);

    /// Whether the event is possible now. (A handler cannot return before it has begun; nothing arrives after the end
    /// of input.)
    bool enabled(const event&) const;
    /// All events that are possible now, of the kinds in `mask` (bit n for kind n).
    void offer(std::uint32_t mask, events& out) const;
    /// Applies the event and checks everything. Throws violation.
    void apply(const event&);
    /// Ends the connection in one of several ways, runs it to its end, uses the remaining objects, checks that nothing
    /// is left.
    void run_to_end(unsigned finale);

    bool closed() const noexcept { return phase_ == phase::closed; }

private:
    enum class phase : std::uint8_t { open, draining, closing, closed };
    enum class cell : std::uint8_t { open, answered, silent, dropped };
    enum class answer : std::uint8_t { none, result, error, quiet, shutdown, refused, overloaded };

    // A request received.
    struct life {
        explore::who who = who::a;
        std::uint8_t number = 1;
        rpc::serial request = 0;  // 0: it was never accepted
        bool in_table = false;    // accepted, and its handler has neither ended nor been abandoned
        bool offered = false;     // begin was called
        bool running = false;
        bool shielded = false;
        bool in_batch = false;
        bool duplicate = false;  // its id was in flight: it is not a request (A7)
        cell state = cell::open;
        answer due = answer::none;
        bool taken_back = false;  // cancelled before its answer was started: nothing of it may be written
        bool may_vanish = false;  // the peer reused its id too early, so a cancel may have meant either request
        unsigned started = 0;     // answers whose first byte was written
        unsigned written = 0;
        rpc::stop_cause cause = rpc::stop_cause::none;  // the cause with which its token must have been triggered
        unsigned fired = 0;
        std::uint16_t said = 0;       // progress and log messages so far, numbered from 1
        std::uint16_t last_said = 0;  // the newest one that was sent while the request was open
        std::uint16_t last_progress = 0;
        std::uint16_t due_words = 0;
        std::uint16_t started_words = 0;
        std::uint16_t newest_started = 0;
    };

    // A request sent.
    struct question {
        rpc::serial call = 0;
        int asker = -1;  // index of a life, or -1
        bool waiting = true;
        bool withdrawn = false;  // must never be written
        bool started = false;    // its first byte was written
        bool written = false;
        bool cancel_due = false;  // the peer has received it and must be notified of the cancel
        unsigned cancels = 0;
        unsigned cancels_written = 0;
        bool silent = false;  // the caller cancelled: no deliver
        unsigned delivered = 0;
        unsigned replies = 0;
        error_kind expected = error_kind::closed;
        bool expect_result = false;
        time_point deadline{};
    };

    [[noreturn]] void broken(std::string why) const;
    void require(bool good, const char* why) const {
        if (!good) [[unlikely]]
            broken(why);
    }
    void require(bool good, const char* why, const life& l) const {
        if (!good) [[unlikely]]
            broken(name(l) + ": " + why);
    }
    static std::string name(const life& l);

    life* find(explore::who w, std::uint8_t number);
    const life* find(explore::who w, std::uint8_t number) const;
    life* open_with(explore::who w);
    bool input_possible() const noexcept;
    std::size_t records() const noexcept;
    std::size_t open_records() const noexcept;
    std::size_t waiting() const noexcept;
    question* question_of(const event&, bool on_wire);
    const question* question_of(const event& e, bool on_wire) const;

    // Updates of the model, one for each event.
    life& arrived(explore::who w);
    void was_cancelled(explore::who w);
    void settle(life& l, cell to, answer due, rpc::stop_cause cause);
    void ended(life& l, answer due);
    void drop_questions(int asker);
    void settle_question(question& q, error_kind kind);
    void abandon(question& q);
    void fail_questions();
    void end_orderly();
    void end_abruptly();
    void look_for_end();
    void output_changed(bool bytes_taken);
    bool survived_in_queue() const;
    void time_passed();
    std::optional<time_point> next_deadline() const;

    // Checks of what the core has done.
    void do_event(const event&);
    void feed_request(explore::who w);
    void ask(const event&);
    void absorb();
    void write(std::size_t bytes);
    void write_all();
    void frame_starts(std::string_view text);
    void frame_done(std::string_view text);
    void message(const json::value& m, bool done);
    life& life_called(std::string_view token);
    void answer_on_wire(const json::value& m, bool done);
    void check_step();
    void check_balance();
    void use_leftovers();

    setting setting_;
    std::shared_ptr<rpc::flight_budget> budget_;
    rpc::byte_stream_sink sink_;
    rpc::peer_core core_;
    time_point now_;

    std::vector<life> lives_;
    std::vector<std::size_t> to_start_;  // requests that must be passed to a handler in this step
    std::array<std::uint8_t, ids> arrivals_{};
    std::vector<question> questions_;

    phase phase_ = phase::open;
    bool input_ended_ = false;
    bool output_dead_ = false;
    bool stalled_ = false;
    std::optional<time_point> drain_, grace_, final_, stall_;
    time_point stall_from_{};  // the earliest time at which a stalled peer may be disconnected; at stall_ it must be
    unsigned times_closed_ = 0;
    std::size_t abandoned_ = 0;
    unsigned anonymous_due_ = 0, anonymous_started_ = 0, anonymous_written_ = 0;

    std::vector<rpc::action> actions_;
    std::string started_;            // the frame that is being written
    std::size_t started_taken_ = 0;  // bytes of it that were written
    json::document document_;
    std::string line_;
    std::string queued_before_;  // the queue before the event
};

}  // namespace keel::explore
