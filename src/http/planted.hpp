#pragma once

// Bugs that a test can switch on in http1_core, to prove that tests/explore_http finds them. In every ordinary build is()
// is false at compile time and no code of this file is left; only the explorer compiles http1_core with KEEL_PLANT_BUGS.

#include <keel/version.hpp>

#include <utility>

namespace keel::inline KEEL_ABI::http::planted {

enum class bug : unsigned char {
    none,
    dispatch_while_responding,    // the next request is dispatched before the response to the previous one is complete
    buffered_input_forgotten,     // pipelined requests are not continued after a deferred response
    half_close_ignored,           // a half-close does not cancel the responder that asked for it
    half_close_always_cancels,    // a half-close cancels every responder
    half_close_drops_requests,    // a half-close discards complete requests that are still buffered
    closed_before_written,        // the connection is closed while its last response is still queued
    responder_not_told,           // the responder is not told that the client is gone
    responder_told_twice,         // the responder is told twice
    client_keep_alive_ignored,    // "Connection: close" of a request is ignored
    retire_ignored_by_response,   // a response of a retired connection promises keep-alive
    idle_timeout_drops_buffered,  // the idle timeout closes although a request is buffered
    timeout_ignores_output,       // the idle timeout closes while a response is being written
    stall_timeout_not_cleared,    // the write stall timeout fires although everything was written
    stall_timeout_restarts,       // a write that makes no progress restarts the write stall timeout
    never_resumed,                // input stays paused after the buffered requests were answered
    never_paused,                 // input is buffered without a limit
    output_limit_ignored,         // requests are dispatched although the client does not read the responses
    refusal_closes_at_once,       // the connection is closed without waiting for the client to read the refusal
    body_timeout_missing,         // the time for the head applies to the body too
    continue_sent_twice,          // "100 Continue" is sent for each piece of the body
    http10_stream_kept_open,      // the end of a stream over HTTP/1.0 does not close the connection
    last_chunk_missing,           // a chunked stream ends without its last chunk
    quiet_not_reset,              // the keep-alive comment is sent on every check once the stream was quiet
    head_not_checked,             // a body is buffered although the application would refuse its request
    continue_before_check,        // "100 Continue" is sent before the application has seen the head
    refused_body_kept,            // the connection stays open after a refusal without the body of its request
    slow_body_tolerated,          // each byte of a body restarts its timeout
    slow_reader_tolerated,        // each byte that the client reads restarts the write stall timeout
};
using enum bug;

#ifdef KEEL_PLANT_BUGS

inline bug planted_bug = bug::none;
inline void now(bug b) noexcept { planted_bug = b; }
inline bool is(bug b) noexcept { return planted_bug == b; }

inline constexpr std::pair<bug, const char*> names[] = {
    {bug::dispatch_while_responding, "dispatch_while_responding"},
    {bug::buffered_input_forgotten, "buffered_input_forgotten"},
    {bug::half_close_ignored, "half_close_ignored"},
    {bug::half_close_always_cancels, "half_close_always_cancels"},
    {bug::half_close_drops_requests, "half_close_drops_requests"},
    {bug::closed_before_written, "closed_before_written"},
    {bug::responder_not_told, "responder_not_told"},
    {bug::responder_told_twice, "responder_told_twice"},
    {bug::client_keep_alive_ignored, "client_keep_alive_ignored"},
    {bug::retire_ignored_by_response, "retire_ignored_by_response"},
    {bug::idle_timeout_drops_buffered, "idle_timeout_drops_buffered"},
    {bug::timeout_ignores_output, "timeout_ignores_output"},
    {bug::stall_timeout_not_cleared, "stall_timeout_not_cleared"},
    {bug::stall_timeout_restarts, "stall_timeout_restarts"},
    {bug::never_resumed, "never_resumed"},
    {bug::never_paused, "never_paused"},
    {bug::output_limit_ignored, "output_limit_ignored"},
    {bug::refusal_closes_at_once, "refusal_closes_at_once"},
    {bug::body_timeout_missing, "body_timeout_missing"},
    {bug::continue_sent_twice, "continue_sent_twice"},
    {bug::http10_stream_kept_open, "http10_stream_kept_open"},
    {bug::last_chunk_missing, "last_chunk_missing"},
    {bug::quiet_not_reset, "quiet_not_reset"},
    {bug::head_not_checked, "head_not_checked"},
    {bug::continue_before_check, "continue_before_check"},
    {bug::refused_body_kept, "refused_body_kept"},
    {bug::slow_body_tolerated, "slow_body_tolerated"},
    {bug::slow_reader_tolerated, "slow_reader_tolerated"},
};

#else

constexpr bool is(bug) noexcept { return false; }

#endif

}  // namespace keel::http::planted
