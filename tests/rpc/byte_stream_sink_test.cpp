// The sink of a byte stream: when reading pauses, and when a stalled peer is disconnected.

#include "rpc/byte_stream_sink.hpp"

#include <doctest/doctest.h>

using namespace keel;
using namespace keel::rpc;
using namespace std::chrono_literals;

namespace {

using kind = outgoing_message::kind;

limits small() {
    limits l;
    l.out_queue = 20;
    l.out_queue_soft = 10;
    l.write_stall = 30s;
    return l;
}

constexpr time_point start = time_point(1000s);

void add(byte_stream_sink& sink, serial owner, std::size_t bytes, kind type = kind::result) {
    outgoing_message about{.type = type, .owner = owner};
    sink.begin(about).append(bytes - 1, 'x');  // the newline is the last byte
    sink.end(about);
}

}  // namespace

TEST_CASE(
    "J1: reading pauses at the hard mark and resumes below the soft mark, whether bytes are written or withdrawn") {
    byte_stream_sink sink(role::server, small());
    add(sink, 1, 9);
    add(sink, 2, 10);
    CHECK(!sink.wants_pause());
    add(sink, 3, 1);
    CHECK(sink.queued_bytes(0) == 20);
    CHECK(sink.wants_pause());
    SUBCASE("written") {
        sink.on_written(10, start);
        CHECK(sink.wants_pause());
        sink.on_written(1, start);
        CHECK(!sink.wants_pause());
    }
    SUBCASE("withdrawn") {
        CHECK(sink.unsent()->withdraw(3) == 1);
        CHECK(sink.wants_pause());
        CHECK(sink.unsent()->withdraw(2) == 1);
        CHECK(!sink.wants_pause());
    }
    SUBCASE("discarded") {
        sink.queue()->discard();
        CHECK(!sink.wants_pause());
        CHECK(sink.pending().empty());
    }
}

TEST_CASE("J1: a client pauses for replies only, not for its own requests and notifications") {
    byte_stream_sink sink(role::client, small());
    add(sink, 1, 100, kind::request);
    add(sink, 0, 100, kind::notification);
    CHECK(!sink.wants_pause());
    add(sink, 2, 10, kind::scoped_notification);
    add(sink, 2, 10, kind::result);
    CHECK(sink.wants_pause());
    sink.on_written(211, start);
    CHECK(sink.wants_pause());  // the half-written response counts with its full size; nothing else is left
    sink.on_written(9, start);
    CHECK(!sink.wants_pause());
}

TEST_CASE(
    "C11: the write timeout starts when bytes are left at the end of a turn and restarts with each byte written") {
    byte_stream_sink sink(role::server, small());
    const auto deadline = [&] { return sink.queue()->stall_deadline(); };
    sink.flush(start);
    CHECK(!deadline());  // nothing is queued
    add(sink, 1, 5);
    CHECK(!deadline());  // it may still be written in this turn
    sink.flush(start);
    CHECK(deadline() == start + 30s);
    add(sink, 2, 5);
    sink.flush(start + 10s);
    CHECK(deadline() == start + 30s);  // more queued output is not progress
    sink.on_written(1, start + 20s);
    CHECK(deadline() == start + 50s);
    SUBCASE("it ends when everything is written") {
        sink.on_written(9, start + 21s);
        CHECK(!deadline());
    }
    SUBCASE("it ends when the rest is withdrawn, and restarts with the next message") {
        sink.on_written(4, start + 21s);
        CHECK(sink.unsent()->withdraw(2) == 1);
        CHECK(!deadline());
        add(sink, 3, 5);
        sink.flush(start + 40s);
        CHECK(deadline() == start + 70s);
    }
    SUBCASE("it ends when everything is discarded; a write that is reported later is ignored") {
        sink.queue()->discard();
        CHECK(!deadline());
        sink.on_written(5, start + 21s);
        CHECK(!deadline());
        CHECK(sink.queued_bytes(0) == 0);
    }
}
