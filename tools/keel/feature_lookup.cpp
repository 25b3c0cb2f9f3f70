#include "feature_lookup.hpp"

#include "target.hpp"

#include <keel/blocking_client.hpp>
#include <keel/version.hpp>

#include <chrono>
#include <exception>
#include <memory>

namespace keel::command {

namespace {

constexpr duration patience = std::chrono::seconds(3);

class lazy_client {
public:
    explicit lazy_client(options o) : options_(std::move(o)) {}

    blocking_client& get() {
        if (client_) return *client_;
        client_options how;
        how.about.name = "keel";
        how.about.version = KEEL_VERSION;
        how.connect_timeout = patience;
        how.probe_timeout = patience / 3;
        client_ = std::make_unique<blocking_client>(target_of(options_), how);
        client_->connect();
        return *client_;
    }
    static call_options limits() {
        call_options how;
        how.idle = how.total = patience;
        return how;
    }

private:
    options options_;
    std::unique_ptr<blocking_client> client_;
};

/// Completion must not print errors: an unreachable server has no candidates.
template <class F>
auto or_nothing(F ask) -> decltype(ask()) {
    try {
        return ask();
    } catch (const std::exception&) {
        return {};
    }
}

}  // namespace

feature_lookup connect_for_lookup(const options& o) {
    auto client = std::make_shared<lazy_client>(o);
    feature_lookup all;
    all.tools = [client] { return or_nothing([&] { return client->get().list_tools(lazy_client::limits()); }); };
    all.prompts = [client] { return or_nothing([&] { return client->get().list_prompts(lazy_client::limits()); }); };
    all.resources = [client] {
        return or_nothing([&] { return client->get().list_resources(lazy_client::limits()); });
    };
    all.prompt_values = [client](const std::string& name, const std::string& argument, const std::string& value) {
        return or_nothing(
            [&] { return client->get().complete_prompt(name, argument, value, {}, lazy_client::limits()).values; });
    };
    return all;
}

}  // namespace keel::command
