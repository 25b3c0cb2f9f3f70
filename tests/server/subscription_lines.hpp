#pragma once

// The messages of subscriptions in both eras, and a server with something to subscribe to.

#include "support/harness.hpp"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace keel::test {

inline constexpr std::array legacy_revisions = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};
inline constexpr std::array all_list_kinds = {list_kind::tools, list_kind::resources, list_kind::prompts};
inline constexpr std::array list_changed_methods = {
    "notifications/tools/list_changed", "notifications/resources/list_changed", "notifications/prompts/list_changed"};

inline void add_demo_resource(server_under_test& s) {
    resource about;
    about.uri = "demo:one";
    about.name = "one";
    detail::resource_entry entry{about, detail::make_resource_handler([] { return "text"; }, true), {}};
    s.core->resources.put(std::make_shared<const server_side::resource_offer>(std::move(entry)), false);
}

inline void add_demo_prompt(server_under_test& s) {
    prompt about;
    about.name = "greet";
    auto entry = detail::make_prompt(about, [](const prompt_arguments&) { return "hello"; }, prompt_options{});
    s.core->prompts.put(std::make_shared<const server_side::prompt_offer>(std::move(entry)), false);
}

inline std::string listen_line(std::string_view id, std::string_view filter) {
    return modern_line(id, "subscriptions/listen", R"("notifications":)" + std::string(filter));
}
inline std::string subscribe_line(std::string_view id, std::string_view uri,
                                  std::string_view method = "resources/subscribe") {
    return request_line(id, method, R"({"uri":")" + std::string(uri) + "\"}");
}

inline std::string subscription_id_meta(std::string_view id) {
    return R"("_meta":{"io.modelcontextprotocol/subscriptionId":)" + std::string(id) + "}";
}
inline std::string acknowledged_line(std::string_view id, std::string_view filter) {
    return notification_line("notifications/subscriptions/acknowledged",
                             R"({"notifications":)" + std::string(filter) + "," + subscription_id_meta(id) + "}");
}
inline std::string updated_line(std::string_view id, std::string_view uri) {
    return notification_line("notifications/resources/updated",
                             R"({"uri":")" + std::string(uri) + "\"," + subscription_id_meta(id) + "}");
}
inline std::string changed_line(std::string_view id, list_kind which) {
    return notification_line(list_changed_methods[static_cast<std::size_t>(which)],
                             "{" + subscription_id_meta(id) + "}");
}
inline std::string updated_line(std::string_view uri) {
    return notification_line("notifications/resources/updated", R"({"uri":")" + std::string(uri) + "\"}");
}

/// Publishes a change of a resource and runs the loop without advancing the time.
inline void publish_and_run(server_under_test& s, std::string_view uri) {
    s.core->topics.publish(uri);
    s.loop->run();
}
inline void change_list(server_under_test& s, list_kind which) {
    s.on_loop([&] { s.session->list_changed(which); });
}

inline constexpr duration notification_interval = limits{}.notification_interval;

}  // namespace keel::test
