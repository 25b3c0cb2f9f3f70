#pragma once

// Bugs that a test can switch on in the peer, to prove that the explorer finds them. In every ordinary build is() is false at compile
// time; only the explorer's own copy of the peer is built with KEEL_PLANT_BUGS.

#include <keel/version.hpp>

#include <utility>

namespace keel::inline KEEL_ABI::rpc::planted {

enum class bug : unsigned char {
    none,
    answer_after_cancel,          // a handler answers although its request was cancelled
    second_answer_at_shutdown,    // a handler answers although closing has already answered for it
    waiter_forgotten,             // the end of the connection ends all calls but the newest
    frames_not_withdrawn,         // a cancel leaves the messages of its request in the queue
    answer_not_withdrawn,         // a cancel leaves a queued response in the queue
    id_not_released,              // an id stays in flight after its request was settled
    old_handler_frees_id,         // the end of a cancelled handler releases its id, which a newer request uses
    cancelled_before_begin_kept,  // a request cancelled before it began is never removed
    cancel_for_unwritten,         // the peer is notified about a request that it never received
    nested_not_dropped,           // a cancel does not end the calls made by the handler
    progress_after_settle,        // progress is sent after the request was settled
    token_fires_twice,            // a second cause fires the token again
    closed_twice,                 // every failure after the end reports the end again
    grace_not_armed,              // a hanging handler keeps the connection from closing
    stall_clock_runs_on,          // the write timeout runs on when nothing is queued any more
    stall_clock_not_started,      // the write timeout never starts
    reading_stays_paused,         // reading is not resumed when the queue has been written
};
using enum bug;

#ifdef KEEL_PLANT_BUGS

inline bug planted_bug = bug::none;
inline void now(bug b) noexcept { planted_bug = b; }
inline bool is(bug b) noexcept { return planted_bug == b; }

inline constexpr std::pair<bug, const char*> names[] = {
    {bug::answer_after_cancel, "answer_after_cancel"},
    {bug::second_answer_at_shutdown, "second_answer_at_shutdown"},
    {bug::waiter_forgotten, "waiter_forgotten"},
    {bug::frames_not_withdrawn, "frames_not_withdrawn"},
    {bug::answer_not_withdrawn, "answer_not_withdrawn"},
    {bug::id_not_released, "id_not_released"},
    {bug::old_handler_frees_id, "old_handler_frees_id"},
    {bug::cancelled_before_begin_kept, "cancelled_before_begin_kept"},
    {bug::cancel_for_unwritten, "cancel_for_unwritten"},
    {bug::nested_not_dropped, "nested_not_dropped"},
    {bug::progress_after_settle, "progress_after_settle"},
    {bug::token_fires_twice, "token_fires_twice"},
    {bug::closed_twice, "closed_twice"},
    {bug::grace_not_armed, "grace_not_armed"},
    {bug::stall_clock_runs_on, "stall_clock_runs_on"},
    {bug::stall_clock_not_started, "stall_clock_not_started"},
    {bug::reading_stays_paused, "reading_stays_paused"},
};

#else

constexpr bool is(bug) noexcept { return false; }

#endif

}  // namespace keel::rpc::planted
