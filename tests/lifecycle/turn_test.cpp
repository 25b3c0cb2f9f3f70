// Exceptions that leave a turn of the peer end this peer like a broken connection, and every call fails.

#include "support/harness.hpp"

#include <new>
#include <stdexcept>

using namespace keel;
using namespace keel::test;

namespace {

/// Keeps the messages; throws if the test has set a flag.
class failing_sink final : public rpc::message_sink {
public:
    bool fail_begin = false;
    bool fail_flush = false;
    std::vector<std::string> sent;

    std::string& begin(const rpc::outgoing_message&) override {
        if (fail_begin) throw std::bad_alloc();
        return sent.emplace_back();
    }
    void end(const rpc::outgoing_message&) override {}
    std::size_t queued_bytes(rpc::stream_id) const noexcept override { return 0; }
    void flush(time_point) override {
        if (std::exchange(fail_flush, false)) throw std::runtime_error("too many open files");
    }
};

class user final : public rpc::peer_user {
public:
    bool fail_report = false;
    lines closed;
    lines notifications;

    void on_request(rpc::peer& p, rpc::serial id, std::string_view, const json::value*) override { p.finish(id, "{}"); }
    void on_notification(rpc::peer&, std::string_view method, const json::value*) override {
        notifications.emplace_back(method);
    }
    void on_report(std::string_view) override {
        if (fail_report) throw std::runtime_error("the log is full");
    }
    void on_closed(std::string_view cause, std::size_t) override { closed.emplace_back(cause); }
};

struct peer_over_failing_sink {
    explicit peer_over_failing_sink(rpc::role r)
        : peer(std::make_shared<rpc::peer>(loop, sink, r, limits{}, nullptr, user)) {}

    /// The outcome of the call is appended to `outcomes`.
    void ask() {
        lines_of_execution.push_back(std::make_unique<detail::activity>(*loop));
        detail::start(*lines_of_execution.back(), rpc::peer::ask(peer, nullptr, "ask", {}, {}),
                      [this](detail::outcome<json::value> o) {
                          if (o.index() == 1) return outcomes.push_back("result");
                          try {
                              std::rethrow_exception(std::get<0>(o));
                          } catch (const error& e) {
                              outcomes.push_back(std::string(name_of(e.kind())) + ": " + e.what());
                          }
                      });
    }

    const std::shared_ptr<manual_loop> loop = std::make_shared<manual_loop>();
    failing_sink sink;
    ::user user;
    lines outcomes;
    std::vector<std::unique_ptr<detail::activity>> lines_of_execution;
    std::shared_ptr<rpc::peer> peer;
};

}  // namespace

TEST_CASE("D1: an exception while a request is written ends the peer; every call fails once, also the new one") {
    peer_over_failing_sink p(rpc::role::client);
    p.ask();
    p.ask();
    CHECK(p.outcomes.empty());
    p.sink.fail_begin = true;
    p.ask();
    REQUIRE(p.outcomes.size() == 3);
    CHECK(p.outcomes[0] == "connection closed: connection closed: " + std::string(std::bad_alloc().what()));
    CHECK(p.outcomes[1] == p.outcomes[0]);
    CHECK(p.outcomes[2].starts_with("connection closed"));
    CHECK(p.user.closed == lines{std::bad_alloc().what()});
    CHECK(p.peer->closed());
    p.ask();
    CHECK(p.outcomes.size() == 4);
    CHECK(p.user.closed.size() == 1);
    p.loop->run();
    CHECK(p.loop->timers() == 0);
}

TEST_CASE("C6: an exception at the end of a turn ends the peer") {
    peer_over_failing_sink p(rpc::role::server);
    p.sink.fail_flush = true;
    p.peer->receive_line(request_line("1", "work"));
    CHECK(p.sink.sent.size() == 1);
    CHECK(p.user.closed == lines{"too many open files"});
    CHECK(!p.peer->receive_line(request_line("2", "work")));
    CHECK(p.sink.sent.size() == 1);
}

TEST_CASE("D1: after an exception in one action, the actions that are left still end their calls") {
    peer_over_failing_sink p(rpc::role::client);
    p.peer->core().allow_batches(true);
    p.ask();
    p.ask();
    p.user.fail_report = true;
    // The first member is reported; the second and third are a notification and the response to the first call.
    p.peer->receive_line(
        R"([1,{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":1,"result":{"big":true}}])");
    REQUIRE(p.outcomes.size() == 2);
    CHECK(p.outcomes[0] == "connection closed: the log is full");
    CHECK(p.outcomes[1] == "connection closed: connection closed: the log is full");
    CHECK(p.user.notifications.empty());
    CHECK(p.user.closed == lines{"the log is full"});
}

TEST_CASE("a turn inside a turn is part of it: the sink is flushed once") {
    peer_over_failing_sink p(rpc::role::server);
    std::size_t sent_inside = 0;
    p.peer->run_turn([&] {
        p.peer->notify("notifications/a", "{}");
        p.peer->run_turn([&] { p.peer->notify("notifications/b", "{}"); });
        sent_inside = p.sink.sent.size();
        p.sink.fail_flush = true;  // a flush at the end of the inner turn would have reset it
        CHECK(p.user.closed.empty());
    });
    CHECK(sent_inside == 2);
    CHECK(p.user.closed == lines{"too many open files"});
}
