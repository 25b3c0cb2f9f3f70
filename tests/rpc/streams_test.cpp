// A core whose requests have streams of their own, as over HTTP: what it tells its sink about them.

#include "harness.hpp"

using namespace keel;
using namespace keel::rpc;
using namespace keel::rpc::test;

namespace {

/// Sends at once; cannot withdraw. Every stream has as many queued bytes as its number.
class stream_sink final : public message_sink, private stream_control {
public:
    std::string& begin(const outgoing_message&) override { return sent.emplace_back(); }
    void end(const outgoing_message&) override {}
    std::size_t queued_bytes(stream_id on) const noexcept override { return on; }
    void flush(time_point) override {}
    stream_control* streams() noexcept override { return this; }

    lines sent;
    lines unanswered;

private:
    void on_unanswered(stream_id on, const request_id& id) override {
        unanswered.push_back(std::to_string(on) + ": " + show(id));
    }
};

struct on_streams {
    void request(std::string_view id, stream_id from) { read(request_line(id), from); }
    void cancel(std::string_view id) { read(cancel_line(id), 0); }
    void read(const std::string& line, stream_id from) {
        json::document d;
        core.on_read(classify(*d.read(line)), from);
        std::vector<action> actions;
        core.take_actions(actions);
        for (action& a : actions) {
            if (auto* start = std::get_if<start_handler>(&a)) {
                REQUIRE(core.begin(start->request));
                running.push_back(start->request);
            }
        }
    }

    stream_sink sink;
    peer_core core{role::server, {}, sink, nullptr};
    std::vector<serial> running;
};

}  // namespace

TEST_CASE("F6, H6: the stream of a handler that closes its own connection is told that no answer will come") {
    on_streams t;
    t.request("1", 11);
    t.request("2", 12);
    t.core.close(duration(10s), t.running[0]);
    CHECK(t.sink.unanswered == lines{"11: 1"});
}

TEST_CASE("B2: the stream of a cancelled request is told that no answer will come") {
    on_streams t;
    t.request("1", 11);
    t.cancel("1");
    CHECK(t.sink.unanswered == lines{"11: 1"});
}

TEST_CASE("B6: a cancel after the answer was passed to a sink that cannot withdraw it is ignored") {
    on_streams t;
    t.request("1", 11);
    t.core.finish(t.running[0], "{}");
    t.cancel("1");
    CHECK(t.sink.sent == lines{result_line("1")});
    CHECK(t.sink.unanswered.empty());
}

TEST_CASE("J1: a request that has ended counts the bytes of the stream for messages that belong to no request") {
    on_streams t;
    t.request("1", 11);
    CHECK(t.core.queued_bytes(t.running[0]) == 11);
    t.core.finish(t.running[0], "{}");
    CHECK(t.core.queued_bytes(t.running[0]) == 0);
    CHECK(t.core.queued_bytes(0) == 0);
}
