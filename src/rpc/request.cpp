#include "rpc/request.hpp"

#include "rpc/peer.hpp"

#include <cxxabi.h>

namespace keel::inline KEEL_ABI::rpc {

namespace {
// What one request may leave for the loop before it is merged or dropped.
constexpr std::size_t most_said = 64;
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
    } catch (...) {  // anything may be thrown; its text cannot be known
        out.log = "an exception that is no std::exception";
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
    saying s;
    s.is_progress = true;
    s.progress = progress;
    s.total = total;
    s.text = std::move(message);
    say(std::move(s));
}

void request::notify(std::string method, std::string params, bool droppable) {
    saying s;
    s.droppable = droppable;
    s.text = std::move(params);
    s.method = std::move(method);
    say(std::move(s));
}

void request::say(saying s) {
    if (loop_->here()) {
        if (auto p = owner_.lock()) {
            flush();
            say_now(*p, s);
        }
        return;
    }
    std::lock_guard lock(mutex_);
    if (said_.size() >= most_said) {
        if (!s.is_progress) return;
        for (auto at = said_.rbegin(); at != said_.rend(); ++at) {
            if (!at->is_progress) continue;
            *at = std::move(s);
            return;
        }
        return;
    }
    said_.push_back(std::move(s));
    if (flush_posted_) return;
    flush_posted_ = loop_->post([self = shared_from_this()] { self->flush(); });
}

void request::say_now(peer& p, const saying& s) {
    if (s.is_progress) {
        p.send_progress(id_, s.progress, s.total, s.text);
    } else {
        p.send_scoped(id_, s.method, s.text, s.droppable);
    }
}

void request::flush() {
    std::vector<saying> said;
    {
        std::lock_guard lock(mutex_);
        said.swap(said_);
        flush_posted_ = false;
    }
    if (said.empty()) return;
    auto p = owner_.lock();
    if (!p) return;
    for (const saying& s : said) say_now(*p, s);
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
    with_peer([id = id_, outcome = std::move(outcome)](peer& p) { p.finish(id, outcome); });
}

void request::close_connection() {
    with_peer([id = id_](peer& p) { p.close({}, id); });
}

void request::release_stream(duration retry) {
    with_peer([id = id_, retry](peer& p) { p.release_stream(id, retry); });
}

void request::run(task<std::string> work) {
    // The callback keeps the request, and with it the activity, for as long as the coroutine lives: an abandoned one
    // may end long after its connection.
    detail::start(line_, std::move(work), [self = shared_from_this()](detail::outcome<std::string> ended) {
        if (ended.index() == 1) {
            self->finish(handler_outcome::of(std::move(std::get<1>(ended))));
        } else {
            self->finish(handler_outcome::of(std::get<0>(ended), self->stopped()));
        }
    });
}

}  // namespace keel::rpc
