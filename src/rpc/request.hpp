#pragma once

// A request that is being handled, as its handler sees it: it sends messages, finishes the request, and shows whether to stop.

#include "rpc/peer_core.hpp"

#include <keel/loop.hpp>
#include <keel/task.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace keel::inline KEEL_ABI::rpc {

class peer;

/// How a handler ended: with a result as JSON text, with an error, or silently because it was told to stop.
struct handler_outcome {
    enum class kind : unsigned char { result, failure, silent };
    kind what = kind::silent;
    std::string result;
    rpc::failure error;
    std::string log;          // for the log only: the text of an unexpected exception
    bool tool_error = false;  // the result reports a failure of a tool; for the metrics only

    static handler_outcome of(std::string json) {
        return {.what = kind::result, .result = std::move(json), .error = {}, .log = {}, .tool_error = false};
    }
    /// Translates an exception of a handler (F1, F2).
    static handler_outcome of(std::exception_ptr thrown, bool told_to_stop);
};

/// Shared by the handler, its saved contexts and the peer, which end at different times. Thread-safe unless noted. Does nothing after the
/// request has ended.
class request : public std::enable_shared_from_this<request> {
public:
    request(std::shared_ptr<keel::loop> loop, std::weak_ptr<peer> owner, serial id);

    serial id() const noexcept { return id_; }
    keel::loop& loop() const noexcept { return *loop_; }

    bool stopped() const noexcept { return stop_.stop_requested(); }
    std::stop_token token() const noexcept { return stop_.get_token(); }
    stop_cause cause() const noexcept { return cause_.load(std::memory_order_acquire); }
    std::string reason() const;

    // Sent in this order, before the response. While 64 messages wait for the loop, further ones are merged (progress) or dropped.
    void progress(double progress, std::optional<double> total, std::string message);
    void notify(std::string method, std::string params, bool droppable);

    /// Ends the request. Further calls do nothing.
    void finish(handler_outcome outcome);
    /// The result of the request will report a failure of a tool (`isError`). For the metrics only.
    void note_tool_error() noexcept { tool_error_.store(true, std::memory_order_relaxed); }
    /// See stream_control::release.
    void release_stream(duration retry);
    /// Closes the connection of the request (F6).
    void close_connection();

    // On the loop only.
    /// Runs the handler of this request as a coroutine, then finishes the request.
    void run(task<std::string> work);
    void fire(stop_cause cause, std::string_view reason);
    detail::activity& line() noexcept { return line_; }
    std::shared_ptr<peer> owner() const noexcept { return owner_.lock(); }
    /// Sends the messages of other threads.
    void flush();

private:
    struct notice {
        bool is_progress = false;
        bool droppable = false;
        double progress = 0;
        std::optional<double> total;
        std::string text;  // message of progress, or params
        std::string method;
    };
    /// Calls `f` on the loop, after earlier messages: now, or in a posted task.
    template <class F>
    void with_peer(F f);
    void send(notice n);
    void send_now(peer& p, const notice& n);

    const std::shared_ptr<keel::loop> loop_;
    const std::weak_ptr<peer> owner_;
    const serial id_;
    std::stop_source stop_;
    std::atomic<stop_cause> cause_{stop_cause::none};

    // Messages of handler threads wait here for the loop.
    mutable std::mutex mutex_;
    std::string reason_;
    std::vector<notice> waiting_;
    bool flush_posted_ = false;
    std::atomic<bool> finished_{false};
    std::atomic<bool> tool_error_{false};

    detail::activity line_;
};

}  // namespace keel::rpc
