#pragma once

// A server whose connection starts and ends slowly: connecting takes until the test allows it, and the process behind
// the connection ends later than the connection.

#include "support/client_harness.hpp"

namespace keel::test {

class slow_connector final : public client_side::connector {
public:
    explicit slow_connector(std::shared_ptr<script_connector> inner) : inner_(std::move(inner)) {}

    task<std::unique_ptr<client_side::link>> connect(std::shared_ptr<loop> on,
                                                     client_side::link_settings how) override {
        ++attempts;
        if (slow_to_come) co_await *come;
        auto inside = co_await inner_->connect(std::move(on), std::move(how));
        co_return std::make_unique<slow_link>(std::move(inside), slow_to_go ? go : nullptr);
    }
    std::string describe() const override { return "a slow server"; }
    std::string identity() const override { return "slow"; }

    bool slow_to_come = false;
    bool slow_to_go = false;
    std::shared_ptr<event> come = std::make_shared<event>();
    std::shared_ptr<event> go = std::make_shared<event>();
    std::size_t attempts = 0;

private:
    class slow_link final : public client_side::link {
    public:
        slow_link(std::unique_ptr<client_side::link> inside, std::shared_ptr<event> go)
            : inside_(std::move(inside)), go_(std::move(go)) {}
        std::shared_ptr<rpc::peer> open(std::shared_ptr<loop> on, const limits& bounds,
                                        client_side::link_user& user) override {
            return inside_->open(std::move(on), bounds, user);
        }
        std::string exit_description() const override { return inside_->exit_description(); }
        task<void> ended() override {
            auto keep = go_;
            if (keep) co_await *keep;
        }

    private:
        std::unique_ptr<client_side::link> inside_;
        std::shared_ptr<event> go_;
    };

    std::shared_ptr<script_connector> inner_;
};

/// Gives the client of `t` a slow connection to its scripted server.
inline std::shared_ptr<slow_connector> make_slow(client_under_test& t, client_options options = {}) {
    auto slow = std::make_shared<slow_connector>(t.connector);
    options.about.name = "client-under-test";
    options.about.version = "1.0";
    t.client.emplace(t.loop, server_target(std::shared_ptr<client_side::connector>(slow)), std::move(options));
    return slow;
}

}  // namespace keel::test
