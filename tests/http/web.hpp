#pragma once

// An HTTP server on a loop that the test runs, and clients with scripted connections. Nothing listens, and only the
// test advances the clock. At the end of a test every client disconnects, every session is deleted, and nothing may be
// left; then the server stops. Checked for all messages: a request has at most one answer, a connection has at most as
// many responses as requests, and every message matches the official schema.

#include "http/answers.hpp"
#include "http/http_server_core.hpp"
#include "http/requests.hpp"
#include "support/gate.hpp"
#include "support/harness.hpp"
#include "support/manual_loop.hpp"
#include "support/message_check.hpp"
#include "support/scripted_connection.hpp"

#include <keel/http_server.hpp>
#include <keel/server.hpp>

#include <doctest/doctest.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace keel::test {

struct web_settings {
    http_options http = {};
    limits bounds = {};
    std::uint64_t seed = 0;  // of the shuffled order of posted work; 0: in order
};

/// Messages that belong together: those of one session, or of one connection of a modern client.
class web_talk {
public:
    void sent(std::string_view body);
    /// `event` is the id of its event; a second message with the same id is a replay.
    void received(const std::string& message, const std::string& event);
    void check() const;

    message_check schemas;

private:
    std::map<std::string, std::size_t> asked_;
    std::map<std::string, std::size_t> answered_;
    std::set<std::string> events_;
};

/// One connection of a client.
class web_client {
public:
    web_client(std::shared_ptr<manual_loop> loop, std::shared_ptr<script> s, std::shared_ptr<web_talk> t)
        : wire(std::move(s)), talk(std::move(t)), loop_(std::move(loop)) {}

    const std::shared_ptr<script> wire;
    std::shared_ptr<web_talk> talk;

    /// Sends a whole request, which is read when the loop runs next.
    void later(std::string request);
    /// The same, and runs the loop.
    void send(std::string request) {
        later(std::move(request));
        loop_->run();
    }
    /// Sends any bytes. If they are a request, `expect` must be called too.
    void feed(std::string bytes) {
        raw_ = true;
        wire->feed(std::move(bytes));
    }
    void expect(std::string_view request);
    void gone() {
        wire->fail_read(104);  // connection reset
        loop_->run();
    }
    void eof() {
        wire->eof();
        loop_->run();
    }

    seen_output look() const { return read_answers(wire->output(), wire->closed()); }
    /// The response to request number `n`, counted from 0; an empty one if there is none.
    seen_answer answer(std::size_t n) const;
    seen_answer last() const;
    std::size_t answers() const { return look().answers.size(); }
    /// 0 before the first response.
    int status() const { return last().status; }
    /// A summary of the last message of the last response: "held a", "error -32603 server shutting down"; "-" without
    /// one.
    std::string said() const;
    /// Summaries of the messages of all responses, in order; progress is "progress N".
    lines said_all() const;

    /// Checks new messages and the HTTP framing.
    void check();

private:
    const std::shared_ptr<manual_loop> loop_;
    std::size_t requests_ = 0;
    std::set<std::size_t> pages_;  // requests for pages, whose answers are not messages
    bool raw_ = false;
    std::size_t told_ = 0;  // messages that were checked
};

/// A summary of a message.
std::string in_short(const json::value& m);

/// The points at which handlers of the tool `hold` wait, by name.
struct station {
    gate g;
    std::size_t came = 0;
    std::size_t cancelled = 0;
    std::vector<context> contexts;  // of the handlers that have arrived
};

class web {
public:
    explicit web(web_settings how = {});
    web(const web&) = delete;
    web& operator=(const web&) = delete;
    ~web();

    web_settings settings;
    const std::shared_ptr<manual_loop> loop;
    std::unique_ptr<server> host;
    std::shared_ptr<http::http_server_core> core;
    head_count handlers;
    std::deque<std::unique_ptr<web_client>> clients;

    // ---- tools: hold {at}, talk {at}, tidy {at}, steps {n}, big {n}, echo {at}, ask ----

    station& at(const std::string& name) { return stations_[name]; }
    /// Releases all handlers that wait there, now and later.
    void open(const std::string& name) {
        on_loop([this, name] { at(name).g.open(); });
    }
    context& context_at(const std::string& name) { return at(name).contexts.back(); }

    // ---- clients ----

    /// `from` is the IP address of the client; "": a client without one, as on a Unix socket.
    web_client& connect(std::shared_ptr<web_talk> talk = {}, std::string_view from = {});
    web_client& connect_from(std::string_view address) { return connect({}, address); }
    /// Opens a session, on a connection that is closed again.
    http_session open_session(std::string_view version = "2025-11-25",
                              std::string_view capabilities = R"({"roots":{}})");
    /// The session that the last response of `c` has opened.
    http_session session_of(web_client& c, std::string_view version = "2025-11-25");
    /// A connection for messages of that session.
    web_client& connect(const http_session& s) { return connect(talks_.at(s.id)); }
    /// Sends a request on a new connection; returns the status.
    int ask(const http_session& s, std::string request);
    void forget_clients();

    // ---- loop and clock ----

    template <class F>
    void on_loop(F what) {
        loop->post(std::move(what));
        loop->run();
    }
    void run() { loop->run(); }
    void advance(duration d) { loop->advance(d); }
    void stop(duration drain = {}) {
        on_loop([this, drain] { core->stop(drain); });
    }
    bool stopped() const { return !server_access::of(*host)->has_transports(); }
    std::size_t in_flight() const { return host->health().in_flight; }
    std::size_t sessions() const { return core->counters.sessions; }
    std::size_t streams() const { return core->counters.streams; }
    /// A little more than one tick of the server's timer.
    duration tick() const { return core->tick + std::chrono::milliseconds(1); }
    bool logged(std::string_view part) const;

    /// Disconnects all clients, and checks that nothing is left.
    void finish();

private:
    void add_tools();
    void check_census();

    std::map<std::string, station> stations_;
    std::map<std::string, std::shared_ptr<web_talk>> talks_;  // of sessions, by id
    std::vector<http_session> sessions_;
    lines log_;
    bool finished_ = false;
};

}  // namespace keel::test
