#include "rpc/request.hpp"

#include "rpc/peer.hpp"

#include <cxxabi.h>

namespace keel::inline KEEL_ABI::rpc {

namespace {
// Messages of one request that may wait for the loop before they are merged or dropped.
constexpr std::size_t max_waiting = 64;
}  // namespace

handler_outcome handler_outcome::of(std::exception_ptr thrown, bool told_to_stop) {
    handler_outcome out;
    out.what = kind::failure;
    out.error = {error_code::internal, "internal error", {}};
    try {
        std::rethrow_exception(std::move(thrown));
    } catch (const cancelled&) {
        if (told_to_stop) out.what = kind::silent;
        else out.log = "a handler threw keel::cancelled without having been cancelled";
    } catch (const keel::error& e) {
        if (e.kind() == error_kind::rejected) {
            out.error = {e.code(), e.what(), e.data()};
        } else if (told_to_stop) {
            out.what = kind::silent;
        } else if (e.code() != 0) {
            out.error = {e.code(), e.what(), e.data()};
        } else {
            out.log = std::string(name_of(e.kind())) + ": " + e.what();
        }
    } catch (const std::exception& e) {
        out.log = e.what();
    } catch (abi::__forced_unwind&) {
        throw;
    } catch (...) {  // any type can be thrown; its text is unknown
        out.log = "unknown exception (not derived from std::exception)";
    }
    return out;
}

request::request(std::shared_ptr<keel::loop> loop, std::weak_ptr<peer> owner, serial id)
    : loop_(std::move(loop)), owner_(std::move(owner)), id_(id), line_(*loop_) {}

std::string request::reason() const {
    std::lock_guard lock(mutex_);
    return reason_;
}

void request::fire(stop_cause cause, std::string_view reason) {
    {
        std::lock_guard lock(mutex_);
        reason_ = reason;
    }
    cause_.store(cause, std::memory_order_release);
    stop_.request_stop();
    line_.stop();
}

void request::progress(double progress, std::optional<double> total, std::string message) {
    notice n;
    n.is_progress = true;
    n.progress = progress;
    n.total = total;
    n.text = std::move(message);
    send(std::move(n));
}

void request::notify(std::string method, std::string params, bool droppable) {
    notice n;
    n.droppable = droppable;
    n.text = std::move(params);
    n.method = std::move(method);
    send(std::move(n));
}

void request::send(notice n) {
    if (loop_->here()) {
        if (auto p = owner_.lock()) {
            flush();
            send_now(*p, n);
        }
        return;
    }
    std::lock_guard lock(mutex_);
    if (waiting_.size() >= max_waiting) {
        if (!n.is_progress) return;
        for (auto at = waiting_.rbegin(); at != waiting_.rend(); ++at) {
            if (!at->is_progress) continue;
            *at = std::move(n);
            return;
        }
        return;
    }
    waiting_.push_back(std::move(n));
    if (flush_posted_) return;
    flush_posted_ = loop_->post([self = shared_from_this()] { self->flush(); });
}

void request::send_now(peer& p, const notice& n) {
    if (n.is_progress) {
        p.send_progress(id_, n.progress, n.total, n.text);
    } else {
        p.send_scoped(id_, n.method, n.text, n.droppable);
    }
}

void request::flush() {
    std::vector<notice> waiting;
    {
        std::lock_guard lock(mutex_);
        waiting.swap(waiting_);
        flush_posted_ = false;
    }
    if (waiting.empty()) return;
    auto p = owner_.lock();
    if (!p) return;
    for (const notice& n : waiting) send_now(*p, n);
}

template <class F>
void request::with_peer(F f) {
    auto tell = [self = shared_from_this(), f = std::move(f)] {
        self->flush();
        if (auto p = self->owner_.lock()) f(*p);
    };
    if (loop_->here()) {
        tell();
    } else {
        loop_->post(std::move(tell));
    }
}

void request::finish(handler_outcome outcome) {
    if (finished_.exchange(true)) return;
    if (tool_error_.load(std::memory_order_relaxed)) outcome.tool_error = true;
    with_peer([id = id_, outcome = std::move(outcome)](peer& p) { p.finish(id, outcome); });
}

void request::close_connection() {
    with_peer([id = id_](peer& p) { p.close({}, id); });
}

void request::release_stream(duration retry) {
    with_peer([id = id_, retry](peer& p) { p.release_stream(id, retry); });
}

void request::run(task<std::string> work) {
    // The callback keeps the request, and with it the activity, alive as long as the coroutine: an abandoned handler may end long after
    // its connection.
    detail::start(line_, std::move(work), [self = shared_from_this()](detail::outcome<std::string> ended) {
        if (ended.index() == 1) {
            self->finish(handler_outcome::of(std::move(std::get<1>(ended))));
        } else {
            self->finish(handler_outcome::of(std::get<0>(ended), self->stopped()));
        }
    });
}

}  // namespace keel::rpc
