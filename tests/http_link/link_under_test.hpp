#pragma once

// An http_link over a fake pool and a loop that the test runs. At the end of a test the link is closed, and nothing may
// be left.

#include "client/link.hpp"
#include "fake_pool.hpp"
#include "http_client/http_link.hpp"
#include "support/manual_loop.hpp"
#include "support/proof.hpp"

#include <keel/error.hpp>

#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::test {

using namespace std::chrono_literals;

inline constexpr const char* modern_version = "2026-07-28";
inline constexpr const char* legacy_version = "2025-11-25";
/// The revisions with this transport (since 2025-03-26): those of the older era, and all.
inline constexpr std::array legacy_versions = {"2025-03-26", "2025-06-18", legacy_version};
inline constexpr std::array versions = {"2025-03-26", "2025-06-18", legacy_version, modern_version};

/// A call and its outcome.
struct asked {
    explicit asked(loop& on) : line(on) {}
    detail::activity line;
    int ends = 0;
    std::string outcome;  // "{…}", "cancelled", "rejected -32601: no such method", "stream lost"
    int http_status = 0;

    void end(detail::outcome<json::value> what) {
        ++ends;
        if (what.index() == 1) {
            outcome = json::to_string(std::get<1>(what));
            return;
        }
        try {
            std::rethrow_exception(std::get<0>(what));
        } catch (const cancelled&) {
            outcome = "cancelled";
        } catch (const keel::error& e) {
            outcome = std::string(name_of(e.kind()));
            if (e.kind() == error_kind::rejected) outcome += ' ' + std::to_string(e.code()) + ": " + e.what();
            http_status = e.http_status();
            text = e.what();
        }
    }
    std::string text;  // of an error
};

struct link_settings_for_test {
    bool modern = true;
    std::string version = {};  // "": the newest of the era
    limits bounds = {};
    http_client::http_link_options options = {};
    std::string path = "/mcp";
};

class link_under_test final : public client_side::link_user {
public:
    explicit link_under_test(link_settings_for_test how = {})
        : version(!how.version.empty() ? how.version
                  : how.modern         ? modern_version
                                       : legacy_version),
          loop(std::make_shared<manual_loop>()) {
        link = std::make_unique<http_client::http_link>(
            loop, std::make_unique<fake_pool>(on, "http://127.0.0.1:8848", how.path), how.options);
        peer = link->open(loop, how.bounds, *this);
        peer->core().accept_requests(!how.modern);
        speak(how.modern, how.modern ? version : "");
    }
    ~link_under_test() {
        if (!peer->closed()) peer->close();
        loop->advance(10s);
        CHECK(closes == 1);
        CHECK(on->gone);
        CHECK(on->open() == 0);
        CHECK(link->open_exchanges() == 0);
        CHECK(loop->timers() == 0);
        for (const auto& each : calls_) CHECK(each->ends == 1);
    }

    void speak(bool modern, std::string_view from_now) {
        link->speak(modern, from_now);
        if (!from_now.empty()) spoke(from_now);
    }

    std::shared_ptr<asked> ask(std::string method, std::string params = "{}",
                               rpc::peer::call_options_with_progress options = {}) {
        auto made = std::make_shared<asked>(*loop);
        options.want_progress = false;
        calls_.push_back(made);
        detail::start(made->line, rpc::peer::ask(peer, nullptr, std::move(method), json::parse(params), options),
                      [made](detail::outcome<json::value> what) { made->end(std::move(what)); });
        return made;
    }
    std::shared_ptr<asked> call(std::string name) {
        rpc::peer::call_options_with_progress options;
        names_.push_back(std::make_unique<std::string>(name));
        options.name = *names_.back();
        return ask("tools/call", R"({"name":")" + name + R"("})", options);
    }

    /// The handshake of the older era, with a session unless the id is empty.
    void shake_hands(std::string_view session = "s-1") {
        link->speak(false, "");
        auto opening = ask("initialize");
        http_client::header_list headers;
        if (!session.empty()) headers.emplace_back("mcp-session-id", session);
        on->answer(on->last(), "{}", headers);
        REQUIRE(opening->ends == 1);
        speak(false, version);
        peer->notify("notifications/initialized", "{}", false);
        on->accept(on->last());
    }

    /// Prepares for requests, with a handshake if the era has one. Returns the number of messages.
    std::size_t open() {
        if (version != modern_version) shake_hands();
        return on->requests.size();
    }

    const std::string version;  // the revision in use; in the older era after the handshake
    std::shared_ptr<manual_loop> loop;
    std::shared_ptr<fake_wire> on = std::make_shared<fake_wire>();
    std::unique_ptr<http_client::http_link> link;
    std::shared_ptr<rpc::peer> peer;

    std::vector<std::string> reports;
    std::vector<std::string> heard;  // notifications: "notifications/message {…}"
    int closes = 0;
    std::string cause;
    int sessions_lost = 0;
    int gaps = 0;
    std::vector<std::string> silences;
    std::function<void()> when_session_lost = {};
    std::function<void(std::string_view)> when_heard = {};
    std::function<void(rpc::serial, std::string_view)> when_asked = {};

private:
    void on_request(rpc::peer& p, rpc::serial request, std::string_view method, const json::value*) override {
        if (when_asked) return when_asked(request, method);
        p.finish(request, R"({"roots":[]})");
    }
    void on_notification(rpc::peer&, std::string_view method, const json::value* params) override {
        heard.push_back(std::string(method) + (params ? ' ' + json::to_string(*params) : ""));
        if (when_heard) when_heard(method);
    }
    void on_report(std::string_view text) override { reports.emplace_back(text); }
    void on_closed(std::string_view why, std::size_t) override {
        ++closes;
        cause = why;
    }
    void on_session_lost() override {
        ++sessions_lost;
        if (when_session_lost) when_session_lost();
    }

    void on_gap() override { ++gaps; }
    void on_silence(std::string_view why) override { silences.emplace_back(why); }

    std::vector<std::shared_ptr<asked>> calls_;
    std::vector<std::unique_ptr<std::string>> names_;
};

inline link_settings_for_test legacy(const char* version = legacy_version) {
    link_settings_for_test how;
    how.modern = false;
    how.version = version;
    return how;
}

inline link_settings_for_test speaking(std::string_view version) {
    link_settings_for_test how;
    how.modern = version == modern_version;
    how.version = version;
    return how;
}

}  // namespace keel::test
