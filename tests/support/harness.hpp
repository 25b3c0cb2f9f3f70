#pragma once

// A server session, or a bare rpc::peer, over a scripted connection and a loop that the test runs. At the end of a test
// the harness closes the connection, checks the recorded messages (see tap.hpp), and checks that nothing is left: no
// request, handler, timer, posted work or object.

#include "rpc/connection_io.hpp"
#include "server/server_session.hpp"
#include "support/gate.hpp"
#include "support/manual_loop.hpp"
#include "support/scripted_connection.hpp"
#include "support/tap.hpp"

#include <keel/server.hpp>

#include <atomic>
#include <barrier>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace keel::test {

using namespace std::chrono_literals;

/// Seed 0 keeps the order of posted work.
inline std::shared_ptr<manual_loop> make_loop(std::uint64_t seed) {
    return seed == 0 ? std::make_shared<manual_loop>() : std::make_shared<manual_loop>(seed);
}

/// Runs the loop, and waits for other threads to post work, until `ready()` is true.
template <class Ready>
void run_until(manual_loop& loop, Ready ready) {
    for (loop.run(); !ready(); loop.run()) loop.wait_for_work();
}

struct server_settings {
    limits bounds = {};
    unsigned workers = 2;
    std::uint64_t seed = 0;  // of the shuffled order of posted work; 0: in order
    std::string instructions = {};
    bool quiet = false;  // for millions of messages: no tap, no checks
    std::function<void(server_options&)> configure = {};
    std::string principal = {};
    std::function<void(server_options&)> adjust = {};  // sets other options
};

class server_under_test {
public:
    explicit server_under_test(server_settings how = {})
        : settings(std::move(how)), loop(make_loop(settings.seed)), wire(std::make_shared<script>(loop)),
          seen(wire, language::mcp) {
        implementation about;
        about.name = "under-test";
        about.version = "1.0";
        about.title = "Under test";
        about.description = "A server that is being tested";
        server_options options;
        options.limits = settings.bounds;
        options.instructions = settings.instructions;
        options.worker_threads = settings.workers;
        options.log = [this](log_level level, std::string_view text) {
            std::lock_guard lock(log_mutex_);
            log_.emplace_back(std::string(name_of(level)) + ": " + std::string(text));
        };
        if (settings.adjust) settings.adjust(options);
        if (settings.configure) settings.configure(options);
        core = std::make_shared<server_side::server_core>(std::move(about), std::move(options));
        session = std::make_shared<server_side::server_session>(
            core,
            [this](const connection_end& end) {
                ends.push_back(end);
                if (on_ended) on_ended();
            },
            settings.principal);
        if (settings.quiet) wire->discard_output();
    }
    server_under_test(const server_under_test&) = delete;
    server_under_test& operator=(const server_under_test&) = delete;
    ~server_under_test() {
        if (std::uncaught_exceptions() == 0) finish();
    }

    const server_settings settings;
    const std::shared_ptr<manual_loop> loop;
    const std::shared_ptr<script> wire;
    tap seen;
    std::shared_ptr<server_side::server_core> core;
    std::shared_ptr<server_side::server_session> session;
    std::vector<connection_end> ends;
    std::function<void()> on_ended;
    head_count handlers;  // see guard

    template <class F>
    void tool(std::string name, F f, tool_options options = {}) {
        bool replace = options.replace;
        core->add_tool(detail::make_tool(std::move(name), "", std::move(f), std::move(options)), replace);
    }

    // ---- the client ----

    /// Opens the connection; with a version also the handshake of the older revisions, which the tap does not keep.
    void start() { session->start(loop, wire->open(), settings.bounds); }
    void start(std::string_view version) {
        start();
        send(initialize_line("\"init\"", version));
        send(notification_line("notifications/initialized"));
        REQUIRE(seen.answers_to("\"init\"") == 1);
        seen.take();
    }
    static std::string initialize_line(std::string_view id, std::string_view version,
                                       std::string_view capabilities = R"({"roots":{}})") {
        return request_line(id, "initialize",
                            R"({"protocolVersion":")" + std::string(version) + R"(","capabilities":)" +
                                std::string(capabilities) + R"(,"clientInfo":{"name":"tester","version":"0"}})");
    }
    /// Sends one line and runs the loop.
    void send(std::string line) {
        later(std::move(line));
        loop->run();
    }
    /// Sends one line that is read when the loop runs next.
    void later(std::string line) { later_bytes(std::move(line) + "\n"); }
    void later_bytes(std::string bytes) {
        if (!settings.quiet) seen.note_input(bytes);
        wire->feed(std::move(bytes));
    }
    void call(std::string_view id, std::string_view tool_name, std::string_view arguments = "{}",
              std::string_view token = "") {
        send(call_line(id, tool_name, arguments, token));
    }
    void cancel(std::string_view id, std::string_view reason = "") { send(cancel_line(id, reason)); }
    void eof() {
        wire->eof();
        loop->run();
    }

    // ---- loop and clock ----

    /// Runs `what` in a turn of the loop, then runs the loop.
    template <class F>
    void on_loop(F what) {
        loop->post(std::move(what));
        loop->run();
    }
    void open(gate& g) {
        on_loop([&g] { g.open(); });
    }
    void close(duration drain = {}) {
        on_loop([this, drain] { session->close(drain); });
    }
    void advance(duration d) { loop->advance(d); }
    template <class Ready>
    void until(Ready ready) {
        run_until(*loop, std::move(ready));
    }
    /// Waits until the worker threads have finished their current jobs. The jobs must not be waiting at a gate.
    void settle_workers() {
        auto pool = core ? core->started_workers() : nullptr;
        if (!pool) return;
        auto all_here = std::make_shared<std::barrier<>>(static_cast<std::ptrdiff_t>(settings.workers) + 1);
        for (unsigned i = 0; i < settings.workers; ++i) pool->submit([all_here] { all_here->arrive_and_wait(); });
        all_here->arrive_and_wait();
        loop->run();
    }

    std::size_t in_flight() const { return core->budget->used; }
    std::string answer(std::string_view id) { return seen.answer(id); }
    std::size_t answers_to(std::string_view id) { return seen.answers_to(id); }
    lines log() const {
        std::lock_guard lock(log_mutex_);
        return log_;
    }
    bool logged(std::string_view part) const {
        for (const std::string& each : log()) {
            if (each.find(part) != std::string::npos) return true;
        }
        return false;
    }

    /// Ends the connection like a client that disconnects gracefully, and checks that nothing is left. All handlers
    /// must be able to end by then.
    void finish() {
        if (!core) return;
        if (wire->started()) {
            if (ends.empty()) {
                wire->resume();
                eof();
            }
            settle_workers();
            if (ends.empty()) advance(settings.bounds.drain_on_eof + 10s);
            CHECK(ends.size() == 1);
            CHECK(wire->closed());
        }
        CHECK(in_flight() == 0);
        CHECK(handlers.here() == 0);
        on_ended = nullptr;
        session.reset();
        settle_workers();
        loop->run();
        core.reset();
        CHECK(wire->destroyed() == wire->started());
        CHECK(loop->ready() == 0);
        CHECK(loop->timers() == 0);
        if (!settings.quiet) seen.check_ledger();
    }

private:
    mutable std::mutex log_mutex_;
    lines log_;
};

/// A bare peer, in either role, with a user made of functions.
class peer_under_test final : public rpc::peer_user {
public:
    explicit peer_under_test(rpc::role r, const limits& bounds = {}, std::uint64_t seed = 0)
        : loop(make_loop(seed)), wire(std::make_shared<script>(loop)), seen(wire),
          budget(std::make_shared<rpc::flight_budget>()),
          peer(rpc::make_connection_peer(loop, wire->open(), r, bounds, budget, *this)) {
        peer->start();
    }
    peer_under_test(const peer_under_test&) = delete;
    peer_under_test& operator=(const peer_under_test&) = delete;
    ~peer_under_test() {
        if (std::uncaught_exceptions() == 0) finish();
    }

    const std::shared_ptr<manual_loop> loop;
    const std::shared_ptr<script> wire;
    tap seen;
    const std::shared_ptr<rpc::flight_budget> budget;
    std::shared_ptr<rpc::peer> peer;

    // Events in one list: "notification x", "report …", "closed …", and entries that tests add.
    lines events;
    std::size_t closings = 0;
    std::size_t abandoned = 0;
    std::string cause;

    /// Request handlers by method. The default handler returns "{}" at once.
    std::map<std::string, std::function<task<std::string>(std::shared_ptr<rpc::request>)>, std::less<>> on;
    std::function<void(std::string_view method, const json::value* params)> hear;
    std::function<void()> on_end;

    void send(std::string line) {
        later(std::move(line));
        loop->run();
    }
    void later(std::string line) { later_bytes(std::move(line) + "\n"); }
    void later_bytes(std::string bytes) {
        seen.note_input(bytes);
        wire->feed(std::move(bytes));
    }
    void cancel(std::string_view id, std::string_view reason = "") { send(cancel_line(id, reason)); }
    void eof() {
        wire->eof();
        loop->run();
    }
    void close(duration drain = {}) {
        on_loop([this, drain] { peer->close(drain); });
    }
    void advance(duration d) { loop->advance(d); }
    template <class F>
    void on_loop(F what) {
        loop->post(std::move(what));
        loop->run();
    }
    void open(gate& g) {
        on_loop([&g] { g.open(); });
    }

    // ---- our requests ----

    struct asked {
        explicit asked(keel::loop& l) : line(l) {}
        detail::activity line;
        std::string name;
        std::string
            outcome;  // "" while it waits; JSON of the result, or "kind: message" / "code message" / "cancelled"
        std::size_t settled = 0;
    };
    /// Sends a request in its own turn. The object is kept until the end of the test.
    asked& ask(std::string method, json::value params = {}, rpc::peer::call_options_with_progress options = {}) {
        asks_.push_back(std::make_unique<asked>(*loop));
        asked& a = *asks_.back();
        a.name = method;
        loop->post([this, &a, method, params, options] {
            detail::start(a.line, rpc::peer::ask(peer, nullptr, method, params, options),
                          [this, &a](detail::outcome<json::value> o) { settle(a, std::move(o)); });
        });
        loop->run();
        return a;
    }
    /// Cancels the call.
    void abandon(asked& a) {
        on_loop([&a] { a.line.stop(); });
    }

    void finish() {
        if (!peer) return;
        if (!peer->closed()) {
            wire->resume();
            eof();
            if (!peer->closed()) advance(10s);
        }
        CHECK(closings == 1);
        CHECK(peer->core().running() == 0);
        CHECK(peer->core().waiting() == 0);
        CHECK(peer->core().queued_bytes() == 0);
        CHECK(peer->open_requests() == 0);
        CHECK(budget->used == 0);
        for (const auto& a : asks_) CHECK_MESSAGE(a->settled == 1, a->name);
        peer.reset();
        loop->run();
        CHECK(wire->destroyed());
        CHECK(loop->ready() == 0);
        CHECK(loop->timers() == 0);
        seen.check_ledger();
    }

private:
    void on_request(rpc::peer& p, rpc::serial id, std::string_view method, const json::value*) override {
        events.push_back("request " + std::string(method));
        auto at = on.find(method);
        if (at == on.end()) return p.finish(id, "{}");
        auto r = p.open_request(id);
        r->run(at->second(r));
    }
    void on_notification(rpc::peer&, std::string_view method, const json::value* params) override {
        events.push_back("notification " + std::string(method));
        if (hear) hear(method, params);
    }
    void on_report(std::string_view text) override { events.push_back("report " + std::string(text)); }
    void on_cancelled(rpc::serial, std::string_view reason) override {
        if (!reason.empty()) events.push_back("cancelled: " + std::string(reason));
    }
    void on_handler_failed(rpc::serial, std::string_view what) override {
        events.push_back("report handler failed: " + std::string(what));
    }
    void on_closed(std::string_view why, std::size_t left) override {
        events.push_back("closed");
        ++closings;
        abandoned = left;
        cause = why;
        if (on_end) on_end();
    }

    void settle(asked& a, detail::outcome<json::value> o) {
        ++a.settled;
        if (o.index() == 1) {
            a.outcome = json::to_string(std::get<1>(o));
        } else {
            try {
                std::rethrow_exception(std::get<0>(o));
            } catch (const cancelled&) {
                a.outcome = "cancelled";
            } catch (const error& e) {
                a.outcome =
                    e.kind() == error_kind::rejected ? std::to_string(e.code()) : std::string(name_of(e.kind()));
                a.outcome += std::string(": ") + e.what();
            }
        }
        events.push_back("settled " + a.name);
    }

    std::vector<std::unique_ptr<asked>> asks_;
};

}  // namespace keel::test
