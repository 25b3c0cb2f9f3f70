#pragma once

// The HTTP session of a link (revisions before 2026-07-28): it begins with a header, and may expire on the server at any time (D18).
// No I/O.

#include "http_client/http_link_headers.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http_client {

/// A message that the server answered with 404, as far as its session is concerned.
struct unfound_message {
    std::uint64_t epoch = 0;  // number of the session it was sent in
    bool is_request = false;
    bool of_this_session = false;  // a response, or a part of the handshake: not valid in another session
    bool settled = false;          // nobody waits for its response
    bool repeated = false;         // it was sent again before
};

/// What a 404 means.
struct unfound_verdict {
    enum class fate : unsigned char {
        drop,
        fail,    // the call fails
        repeat,  // the server did not process the message: it is sent again in the next session
    };
    fate message = fate::drop;
    bool session_lost = false;  // the current session has expired
};

/// Decides which session a message belongs to, what a 404 means, and when a lost session is renewed. Owned by the http_link; used on its
/// loop only.
class http_session {
public:
    enum class loss : unsigned char {
        ignored,  // known already, or the link is closed
        renew,    // the client has to open a new session
        give_up,  // the last sessions were all lost unused: end_renewal(false) follows
    };

    /// `own`: headers that are sent with every request.
    explicit http_session(header_list own);

    // ---- what every request says ----
    const request_terms& terms() const noexcept { return terms_; }
    bool modern() const noexcept { return terms_.modern; }
    void speak(bool modern, std::string_view version);
    /// The HTTP+SSE transport of 2024-11-05 has no HTTP sessions. `yes` resets the version, too.
    void use_old_transport(bool yes);
    bool old_transport() const noexcept { return old_transport_; }

    // ---- the current session ----
    /// The header of the response to initialize; "" if there is none. Returns false if it is invalid.
    bool take_id(std::string_view id);
    bool has_id() const noexcept { return !terms_.session.empty(); }
    /// The number of the session that a message sent now belongs to; 0: none.
    std::uint64_t epoch_of_message(bool opens_session) const noexcept;
    bool in_session() const noexcept { return epoch_of_message(false) != 0; }
    /// True for a session that was current before.
    bool is_dead(std::uint64_t epoch) const noexcept { return epoch != 0 && epoch != epoch_; }
    /// The handshake is done.
    void opened() noexcept { opened_ = true; }
    /// The link should have a stream for the server's notifications.
    bool wants_stream() const noexcept { return opened_ && state_ == state::usable; }

    // ---- how it ends ----
    /// The server has accepted a request: the session works.
    void prove(std::uint64_t epoch) noexcept;
    unfound_verdict not_found(const unfound_message& m) const noexcept;
    /// The current session has expired on the server.
    loss lose();
    /// The renewal succeeded or failed. Returns false if there was none.
    bool end_renewal(bool worked);
    /// The link is closed: no session is renewed any more.
    void close() noexcept { state_ = state::closed; }

    bool renewing() const noexcept { return state_ == state::renewing; }
    bool closed() const noexcept { return state_ == state::closed; }

private:
    enum class state : unsigned char { usable, renewing, closed };

    request_terms terms_;
    state state_ = state::usable;
    bool old_transport_ = false;
    bool opened_ = false;
    std::uint64_t epoch_ = 1;  // number of the current session
    std::string dead_id_;      // of the session that is being renewed
    unsigned unproven_ = 0;    // consecutive lost sessions in which the server accepted no request
};

}  // namespace keel::http_client
