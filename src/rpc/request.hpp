#pragma once

// One request being handled, as its handler sees it: what it may still say, and whether it should stop.

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

/// How a handler ended: a JSON text, an error to send, or nothing to say because it was told to stop.
struct handler_outcome {
    enum class kind : unsigned char { result, failure, silent };
    kind what = kind::silent;
    std::string result;
    rpc::failure error;
    std::string log;  // what the peer must not see: the text of an unforeseen exception

    static handler_outcome of(std::string json) {
        return {.what = kind::result, .result = std::move(json), .error = {}, .log = {}};
    }
    /// What an exception of a handler means for the peer (F1, F2).
    static handler_outcome of(std::exception_ptr thrown, bool told_to_stop);
};

/// Shared by the handler, its saved contexts and the peer, which end at different times. Everything may be called
/// from any thread and after everything else has ended: it then does nothing.
class request : public std::enable_shared_from_this<request> {
public:
    request(std::shared_ptr<keel::loop> loop, std::weak_ptr<peer> owner, serial id);

    serial id() const noexcept { return id_; }
    keel::loop& loop() const noexcept { return *loop_; }

    bool stopped() const noexcept { return stop_.stop_requested(); }
    std::stop_token token() const noexcept { return stop_.get_token(); }
    stop_cause cause() const noexcept { return cause_.load(std::memory_order_acquire); }
    std::string reason() const;

    // Kept in the order in which they are said, before the answer. More than a bounded number that wait for the loop
    // are merged (progress) or dropped (the rest).
    void progress(double progress, std::optional<double> total, std::string message);
    void notify(std::string method, std::string params, bool droppable);

    /// Ends the request. The first call counts.
    void finish(handler_outcome outcome);
    /// See outlet::release.
    void release_stream(duration retry);
    /// Closes the connection that the request came on (F6).
    void close_connection();

    // On the loop only.
    /// Runs the handler of this request as a coroutine until its end, then finishes.
    void run(task<std::string> work);
    void fire(stop_cause cause, std::string_view reason);
    detail::activity& line() noexcept { return line_; }
    std::shared_ptr<peer> owner() const noexcept { return owner_.lock(); }
    /// Says to the peer what other threads have left here.
    void flush();

private:
    struct saying {
        bool is_progress = false;
        bool droppable = false;
        double progress = 0;
        std::optional<double> total;
        std::string text;  // message of progress, or params
        std::string method;
    };
    /// On the loop, after what was said before: now, or soon.
    template <class F>
    void with_peer(F f);
    void say(saying s);
    void say_now(peer& p, const saying& s);

    const std::shared_ptr<keel::loop> loop_;
    const std::weak_ptr<peer> owner_;
    const serial id_;
    std::stop_source stop_;
    std::atomic<stop_cause> cause_{stop_cause::none};

    // Handler threads leave what they say here and the loop collects it.
    mutable std::mutex mutex_;
    std::string reason_;
    std::vector<saying> said_;
    bool flush_posted_ = false;
    std::atomic<bool> finished_{false};

    detail::activity line_;
};

}  // namespace keel::rpc
