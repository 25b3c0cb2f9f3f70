#pragma once

// A client over scripted connections and a loop that the test runs: the test plays the server. At the end of a test the
// client is closed, and nothing may be left: no waiting call, timer, posted work or object. Every message of the client
// must match the official schema of the revision in use (client_check.hpp).

#include "client/client_session.hpp"
#include "client/engine.hpp"
#include "client/link.hpp"
#include "rpc/connection_io.hpp"
#include "support/client_check.hpp"
#include "support/manual_loop.hpp"
#include "support/proof.hpp"
#include "support/scripted_connection.hpp"

#include <keel/client.hpp>
#include <keel/context.hpp>

#include <doctest/doctest.h>

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace keel::test {

using namespace std::chrono_literals;

/// Creates a scripted connection for each connection attempt.
class script_connector final : public client_side::connector {
public:
    explicit script_connector(std::shared_ptr<manual_loop> l) : loop_(std::move(l)) {}

    task<std::unique_ptr<client_side::link>> connect(std::shared_ptr<loop>, client_side::link_settings how) override {
        settings = std::move(how);
        if (!refusal.empty()) throw keel::error(error_kind::unavailable, refusal);
        wires.push_back(std::make_shared<script>(loop_));
        if (on_connect) on_connect(*wires.back());
        co_return std::make_unique<wire_link>(*this, wires.back()->open());
    }
    bool starts_process() const noexcept override { return child; }
    std::string describe() const override { return "a script"; }
    std::string identity() const override { return "script"; }

    std::vector<std::shared_ptr<script>> wires;
    std::function<void(script&)> on_connect;
    std::string refusal;  // not empty: connecting fails with this text
    bool child = false;   // each connection counts as a new child process
    std::string exit_description;
    client_side::link_settings settings;     // of the last connection
    client_side::link_user* user = nullptr;  // of the last connection: for events that only a link over HTTP has

private:
    class wire_link final : public client_side::link {
    public:
        wire_link(script_connector& owner, std::unique_ptr<connection> wire) : owner_(owner), wire_(std::move(wire)) {}
        std::shared_ptr<rpc::peer> open(std::shared_ptr<loop> on, const limits& bounds,
                                        client_side::link_user& of) override {
            owner_.user = &of;
            auto p = rpc::make_connection_peer(std::move(on), std::move(wire_), rpc::role::client, bounds, nullptr, of);
            p->start();
            return p;
        }
        std::string exit_description() const override { return owner_.exit_description; }

    private:
        script_connector& owner_;
        std::unique_ptr<connection> wire_;
    };
    std::shared_ptr<manual_loop> loop_;
};

/// The outcome of a task: "" while it runs, then JSON or "kind: message".
struct outcome_of_task {
    explicit outcome_of_task(loop& l) : line(l) {}
    detail::activity line;
    std::string text;
    std::size_t settled = 0;
    bool failed = false;
    std::optional<error_kind> kind;
    int code = 0;

    bool done() const noexcept { return settled > 0; }
};

class client_under_test {
public:
    explicit client_under_test(client_options options = {})
        : loop(std::make_shared<manual_loop>()), connector(std::make_shared<script_connector>(loop)) {
        if (options.about.name.empty()) {
            options.about.name = "client-under-test";
            options.about.version = "1.0";
        }
        options.log = [this](log_level level, std::string_view text) {
            log.push_back(std::string(name_of(level)) + ": " + std::string(text));
        };
        client.emplace(loop, server_target(connector), std::move(options));
    }
    client_under_test(const client_under_test&) = delete;
    client_under_test& operator=(const client_under_test&) = delete;
    ~client_under_test() {
        if (std::uncaught_exceptions() == 0) finish();
    }

    const std::shared_ptr<manual_loop> loop;
    const std::shared_ptr<script_connector> connector;
    std::optional<keel::client> client;
    std::vector<std::string> log;

    // ---- the client ----

    /// Starts a task and runs the loop. `show` turns its value into text.
    template <class T, class Show>
    outcome_of_task& run(task<T> work, Show show) {
        tasks_.push_back(std::make_unique<outcome_of_task>(*loop));
        outcome_of_task& o = *tasks_.back();
        auto held = std::make_shared<task<T>>(std::move(work));
        loop->post([&o, held, show] {
            detail::start(o.line, std::move(*held), [&o, show](detail::outcome<T> r) {
                ++o.settled;
                if (r.index() == 0) return describe_failure(o, std::get<0>(r));
                if constexpr (std::is_void_v<T>) o.text = show();
                else o.text = show(std::get<1>(r));
            });
        });
        loop->run();
        return o;
    }
    outcome_of_task& run(task<void> work) {
        return run(std::move(work), [] { return std::string("done"); });
    }
    outcome_of_task& run(task<json::value> work) {
        return run(std::move(work), [](const json::value& v) { return json::to_string(v); });
    }
    outcome_of_task& run(task<tool_result> work) {
        return run(std::move(work), [](const tool_result& r) {
            std::string text;
            for (const content& each : r.content) text += each.text();
            return (r.is_error ? "failed " : "") + text;
        });
    }
    /// Cancels the call.
    void abandon(outcome_of_task& o) {
        loop->post([&o] { o.line.stop(); });
        loop->run();
    }
    void advance(duration d) { loop->advance(d); }

    // ---- the server: the test ----

    script& wire() { return *connector->wires.back(); }
    /// The next message of the client; null if there is none.
    json::value next() {
        collect();
        if (written_.empty()) return {};
        json::value first = std::move(written_.front());
        written_.pop_front();
        return first;
    }
    /// The next message must be a request with this method; returns it.
    json::value expect(std::string_view method) {
        json::value m = next();
        INFO("message: " << json::to_string(m));
        REQUIRE(m["method"].if_string().value_or("") == method);
        return m;
    }
    bool silent() {
        collect();
        return written_.empty();
    }
    void send(const json::value& message) { send_text(json::to_string(message)); }
    void send_text(std::string line) {
        collect();
        checks_[&wire()].heard(line);
        wire().feed(std::move(line) + "\n");
        loop->run();
    }
    void answer(const json::value& request, json::value result) {
        json::value m;
        m.set("jsonrpc", "2.0");
        m.set("id", request["id"]);
        m.set("result", std::move(result));
        send(m);
    }
    void refuse(const json::value& request, int code, std::string_view message = "no", json::value data = {}) {
        json::value why;
        why.set("code", code);
        why.set("message", message);
        if (!data.is_null()) why.set("data", std::move(data));
        json::value m;
        m.set("jsonrpc", "2.0");
        m.set("id", request["id"]);
        m.set("error", std::move(why));
        send(m);
    }
    void notify(std::string_view method, json::value params = {}) {
        json::value m;
        m.set("jsonrpc", "2.0");
        m.set("method", method);
        if (!params.is_null()) m.set("params", std::move(params));
        send(m);
    }
    /// Sends a request of the server.
    void ask(json::value id, std::string_view method, json::value params = {}) {
        json::value m;
        m.set("jsonrpc", "2.0");
        m.set("id", std::move(id));
        m.set("method", method);
        if (!params.is_null()) m.set("params", std::move(params));
        send(m);
    }

    static json::value everything() {
        return json::parse(
            R"({"tools":{"listChanged":true},"prompts":{"listChanged":true},"logging":{},"completions":{},
                               "resources":{"subscribe":true,"listChanged":true}})");
    }
    /// Connects to a server of this revision, and plays the messages of the handshake.
    outcome_of_task& connect(std::string_view version = "2026-07-28", json::value capabilities = everything()) {
        outcome_of_task& o = run(client->connect());
        play_opening(version, std::move(capabilities));
        REQUIRE_MESSAGE(o.text == "done", o.text);
        return o;
    }
    void play_opening(std::string_view version, json::value capabilities = everything()) {
        json::value first = next();
        if (first["method"].if_string() == "server/discover") {
            if (version == "2026-07-28") {
                json::value result =
                    json::object({{"resultType", "complete"}, {"ttlMs", 0}, {"cacheScope", "private"}});
                result.set("supportedVersions", json::array({version}));
                result.set("capabilities", std::move(capabilities));
                answer(first, std::move(result));
                spoke(version);
                return;
            }
            refuse(first, error_code::method_not_found, "method not found");
            first = next();
        }
        INFO("message: " << json::to_string(first));
        REQUIRE(first["method"].if_string().value_or("") == "initialize");
        json::value result = json::object({{"protocolVersion", version}});
        result.set("capabilities", std::move(capabilities));
        result.set("serverInfo", json::object({{"name", "the test"}, {"version", "0"}}));
        answer(first, std::move(result));
        expect("notifications/initialized");
        spoke(version);
    }

    /// Closes the client, and checks that nothing is left.
    void finish() {
        if (!client) return;
        outcome_of_task& closed = run(client->close());
        advance(10s);
        CHECK(closed.done());
        client.reset();
        advance(1s);
        collect();
        for (const auto& [wire, check] : checks_) {
            for (const std::string& each : check.problems()) FAIL_CHECK(each);
        }
        for (const auto& each : tasks_) CHECK(each->settled == 1);
        for (const auto& each : connector->wires) CHECK(each->closed());
        CHECK(loop->ready() == 0);
        CHECK(loop->timers() == 0);
    }

private:
    static void describe_failure(outcome_of_task& o, const std::exception_ptr& why) {
        o.failed = true;
        try {
            std::rethrow_exception(why);
        } catch (const cancelled&) {
            o.text = "cancelled";
        } catch (const error& e) {
            o.kind = e.kind();
            o.code = e.code();
            o.text = std::string(name_of(e.kind())) + ": " + e.what();
        } catch (const std::exception& e) {
            o.text = std::string("exception: ") + e.what();
        }
    }
    void collect() {
        for (const auto& each : connector->wires) {
            std::string& rest = unread_[each.get()];
            rest += each->take_output();
            for (std::size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
                written_.push_back(json::parse(std::string_view(rest).substr(0, end)));
                checks_[each.get()].wrote(written_.back());
                rest.erase(0, end + 1);
            }
        }
    }

    std::vector<std::unique_ptr<outcome_of_task>> tasks_;
    std::map<script*, std::string> unread_;
    std::map<script*, client_check> checks_;
    std::deque<json::value> written_;
};

}  // namespace keel::test
