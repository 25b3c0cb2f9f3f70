#include "http_client/http_session.hpp"

#include <utility>

namespace keel::inline KEEL_ABI::http_client {

namespace {

constexpr unsigned max_unproven = 2;

}  // namespace

http_session::http_session(header_list own) { terms_.own = std::move(own); }

void http_session::speak(bool modern, std::string_view version) {
    terms_.modern = modern;
    terms_.version = version;
}

void http_session::use_old_transport(bool yes) {
    old_transport_ = yes;
    if (!yes) return;
    speak(false, {});
    terms_.session.clear();
}

bool http_session::take_id(std::string_view id) {
    terms_.session.clear();
    if (id.empty()) return true;
    if (!is_session_id(id)) return false;
    terms_.session = id;
    return true;
}

std::uint64_t http_session::epoch_of_message(bool opens_session) const noexcept {
    return terms_.modern || old_transport_ || opens_session || terms_.session.empty() ? 0 : epoch_;
}

// Only requests prove that the session works: the handshake sends notifications in every session.
void http_session::prove(std::uint64_t epoch) noexcept {
    if (epoch == epoch_) unproven_ = 0;
}

unfound_verdict http_session::not_found(const unfound_message& m) const noexcept {
    using fate = unfound_verdict::fate;
    const bool current = m.epoch == epoch_;
    if (m.settled || m.of_this_session) return {fate::drop, current};
    if (m.repeated) return {m.is_request ? fate::fail : fate::drop, false};
    if (closed()) return {fate::drop, false};
    return {fate::repeat, current};
}

http_session::loss http_session::lose() {
    if (state_ != state::usable) return loss::ignored;
    state_ = state::renewing;
    ++epoch_;
    dead_id_ = std::exchange(terms_.session, {});
    // A server that rejects every session it creates is not retried forever; the next call may try again.
    if (++unproven_ <= max_unproven) return loss::renew;
    unproven_ = 0;
    return loss::give_up;
}

bool http_session::end_renewal(bool worked) {
    if (state_ != state::renewing) return false;
    state_ = state::usable;
    std::string dead = std::exchange(dead_id_, {});
    // With the old id the next message gets a 404 again, which starts another renewal.
    if (!worked && terms_.session.empty()) terms_.session = std::move(dead);
    return true;
}

}  // namespace keel::http_client
