#pragma once

// A client over HTTP with a fake connection pool and a loop that the test runs.

#include "http_client/http_link.hpp"
#include "http_link/fake_pool.hpp"
#include "revisions.hpp"

namespace keel::test {

/// Creates HTTP links whose requests the test answers.
class web_connector final : public client_side::connector {
public:
    task<std::unique_ptr<client_side::link>> connect(std::shared_ptr<loop> on, client_side::link_settings) override {
        co_return std::make_unique<http_client::http_link>(std::move(on), std::make_unique<fake_pool>(requests),
                                                           http_client::http_link_options{});
    }
    bool is_http() const noexcept override { return true; }
    std::string describe() const override { return "the web"; }
    std::string identity() const override { return origin; }

    std::shared_ptr<fake_wire> requests = std::make_shared<fake_wire>();
    std::string origin = "http://127.0.0.1:8848";
};

/// A client over HTTP; by default its constructor connects to a server of 2026-07-28.
class web_client {
public:
    explicit web_client(bool connected = true)
        : loop(std::make_shared<manual_loop>()), connector(std::make_shared<web_connector>()) {
        client_options options;
        options.eras = std::make_shared<era_memory>();  // not the one of the process: tests are independent
        options.log = [this](log_level, std::string_view text) { log.emplace_back(text); };
        client.emplace(loop, server_target(connector), std::move(options));
        if (!connected) return;
        auto& o = run(client->connect(), [] { return std::string("done"); });
        answer("server/discover", R"({"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},
            "resources":{"subscribe":true}}})");
        REQUIRE_MESSAGE(o == "done", o);
        spoke(modern);
    }
    ~web_client() {
        std::string& closed = run(client->close(), [] { return std::string("done"); });
        loop->advance(30s);
        CHECK(closed == "done");
        client.reset();
        loop->advance(1s);
        CHECK(loop->timers() == 0);
    }

    template <class T, class Show>
    std::string& run(task<T> work, Show show) {
        outcomes_.push_back(std::make_unique<pending>(*loop));
        pending& p = *outcomes_.back();
        auto held = std::make_shared<task<T>>(std::move(work));
        loop->post([&p, held, show] {
            detail::start(p.line, std::move(*held), [&p, show](detail::outcome<T> r) {
                if (r.index() == 0) {
                    try {
                        std::rethrow_exception(std::get<0>(r));
                    } catch (const std::exception& e) {
                        p.text = std::string("failed: ") + e.what();
                    }
                } else if constexpr (std::is_void_v<T>) {
                    p.text = show();
                } else {
                    p.text = show(std::get<1>(r));
                }
            });
        });
        loop->run();
        return p.text;
    }
    std::string& call(std::string name, std::string_view arguments) {
        return run(client->call_tool(std::move(name), json::parse(arguments)),
                   [](const tool_result&) { return std::string("ok"); });
    }
    seen_request& last(std::string_view method) {
        seen_request& r = connector->requests->last();
        REQUIRE(r.shown() == "POST " + std::string(method));
        return r;
    }
    void answer(std::string_view method, std::string_view result) {
        connector->requests->answer(last(method), json::to_string(result_in(modern, result)));
        loop->run();
    }
    std::string& list() {
        return run(client->list_tools(), [](const std::vector<tool>& all) {
            std::string names;
            for (const tool& each : all) names += each.name + " ";
            return names;
        });
    }
    std::size_t sent() const { return connector->requests->requests.size(); }

    std::shared_ptr<manual_loop> loop;
    std::shared_ptr<web_connector> connector;
    std::optional<keel::client> client;
    std::vector<std::string> log;

private:
    struct pending {
        explicit pending(keel::loop& l) : line(l) {}
        detail::activity line;
        std::string text;
    };
    std::vector<std::unique_ptr<pending>> outcomes_;
};

}  // namespace keel::test
