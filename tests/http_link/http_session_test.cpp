// The rules for HTTP sessions without any I/O: which session a message belongs to, what a 404 means, when a session is renewed.

#include "http_client/http_session.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string_view>

using keel::http_client::http_session;
using keel::http_client::unfound_message;
using fate = keel::http_client::unfound_verdict::fate;
using loss = http_session::loss;

namespace {

/// A session that the server has opened with this id.
http_session opened_session(std::string_view id = "s-1") {
    http_session s({});
    s.speak(false, "2025-11-25");
    CHECK(s.take_id(id));
    s.opened();
    return s;
}

/// A request that was sent in the current session.
unfound_message request_of(const http_session& s) { return {.epoch = s.epoch_of_message(false), .is_request = true}; }

}  // namespace

TEST_CASE("a message belongs to a session only if the server gave an id, in the legacy era, after initialize") {
    http_session s({});
    CHECK(s.epoch_of_message(false) == 0);
    s.speak(false, "2025-11-25");
    CHECK_FALSE(s.in_session());
    CHECK(s.take_id("s-1"));
    CHECK(s.in_session());
    CHECK(s.terms().session == "s-1");
    CHECK(s.epoch_of_message(true) == 0);

    s.speak(true, "2026-07-28");
    CHECK_FALSE(s.in_session());

    s.speak(false, "2025-11-25");
    s.use_old_transport(true);
    CHECK_FALSE(s.has_id());
    CHECK(s.terms().version.empty());
    CHECK(s.take_id("s-2"));
    CHECK_FALSE(s.in_session());
    s.use_old_transport(false);
    CHECK(s.in_session());
}

TEST_CASE("an invalid session id is rejected, and a missing one means that there is no session") {
    http_session s = opened_session();
    CHECK_FALSE(s.take_id("not valid"));
    CHECK_FALSE(s.has_id());
    CHECK(s.take_id("s-2"));
    CHECK(s.take_id(""));
    CHECK_FALSE(s.has_id());
}

TEST_CASE("a request with 404 is sent again once, then it fails; a notification is dropped the second time") {
    http_session s = opened_session();
    for (bool is_request : {true, false}) {
        unfound_message m = request_of(s);
        m.is_request = is_request;
        CHECK(s.not_found(m).message == fate::repeat);
        CHECK(s.not_found(m).session_lost);
        m.repeated = true;
        CHECK(s.not_found(m).message == (is_request ? fate::fail : fate::drop));
        CHECK_FALSE(s.not_found(m).session_lost);
    }
}

TEST_CASE("a 404 for a message of an earlier session does not end the current one") {
    http_session s = opened_session();
    unfound_message late = request_of(s);
    CHECK(s.lose() == loss::renew);
    CHECK(s.is_dead(late.epoch));
    CHECK_FALSE(s.is_dead(0));
    CHECK(s.take_id("s-2"));
    CHECK(s.end_renewal(true));
    CHECK(s.not_found(late).message == fate::repeat);
    CHECK_FALSE(s.not_found(late).session_lost);
    late.settled = true;
    CHECK(s.not_found(late).message == fate::drop);
    CHECK_FALSE(s.not_found(late).session_lost);
    CHECK(s.not_found(request_of(s)).session_lost);
}

TEST_CASE("a message that is valid in its session only is never sent again, and its 404 ends the session") {
    http_session s = opened_session();
    unfound_message m = request_of(s);
    m.of_this_session = true;
    CHECK(s.not_found(m).message == fate::drop);
    CHECK(s.not_found(m).session_lost);
}

TEST_CASE("a session is lost once, however many messages report it") {
    http_session s = opened_session();
    CHECK(s.wants_stream());
    CHECK(s.lose() == loss::renew);
    CHECK(s.renewing());
    CHECK_FALSE(s.wants_stream());
    CHECK_FALSE(s.has_id());
    CHECK(s.lose() == loss::ignored);
    CHECK(s.take_id("s-2"));
    CHECK(s.end_renewal(true));
    CHECK_FALSE(s.end_renewal(true));
    CHECK(s.terms().session == "s-2");
    CHECK(s.wants_stream());
}

TEST_CASE("after a failed renewal the old id is used again, so that the next message starts another renewal") {
    http_session s = opened_session();
    CHECK(s.lose() == loss::renew);
    CHECK(s.end_renewal(false));
    CHECK(s.terms().session == "s-1");
    CHECK(s.not_found(request_of(s)).session_lost);

    CHECK(s.lose() == loss::renew);
    CHECK(s.take_id("s-2"));  // the handshake failed after initialize
    CHECK(s.end_renewal(false));
    CHECK(s.terms().session == "s-2");
}

TEST_CASE("the third lost session in a row in which no request was accepted is not renewed") {
    http_session s = opened_session();
    for (int round = 0; round < 2; ++round) {
        CHECK(s.lose() == loss::renew);
        CHECK(s.end_renewal(false));
        CHECK(s.lose() == loss::renew);
        CHECK(s.end_renewal(false));
        CHECK(s.lose() == loss::give_up);
        CHECK(s.end_renewal(false));
    }
    // Requests in the current session are a proof, those of earlier sessions are not.
    const std::uint64_t earlier = s.epoch_of_message(false);
    CHECK(s.lose() == loss::renew);
    CHECK(s.end_renewal(false));
    CHECK(s.lose() == loss::renew);
    CHECK(s.end_renewal(false));
    s.prove(earlier);
    s.prove(0);
    http_session unproven = s;
    CHECK(unproven.lose() == loss::give_up);
    s.prove(s.epoch_of_message(false));
    CHECK(s.lose() == loss::renew);
}

TEST_CASE("a closed link renews no session and sends no message again") {
    http_session s = opened_session();
    unfound_message m = request_of(s);
    s.close();
    CHECK(s.closed());
    CHECK_FALSE(s.wants_stream());
    CHECK(s.not_found(m).message == fate::drop);
    CHECK(s.lose() == loss::ignored);
    CHECK_FALSE(s.end_renewal(true));

    http_session renewing = opened_session();
    CHECK(renewing.lose() == loss::renew);
    renewing.close();
    CHECK_FALSE(renewing.renewing());
    CHECK_FALSE(renewing.end_renewal(true));
}
