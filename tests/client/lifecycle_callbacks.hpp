#pragma once

// A client whose callbacks all run an action of the test, and a server that triggers each of them.

#include "client/lifecycle_messages.hpp"

namespace keel::test {

/// Every callback calls `act` if it is set.
struct callback_options {
    std::function<void()> act;
    std::size_t called = 0;

    client_options make() {
        client_options o;
        o.on_log = [this](const server_log&) { call(); };
        o.on_list_changed = [this](list_kind) { call(); };
        o.on_resource_updated = [this](std::string_view) { call(); };
        o.on_elicitation_complete = [this](std::string_view) { call(); };
        o.on_notification = [this](std::string_view, const json::value&) { call(); };
        o.on_disconnected = [this](const disconnection&) { call(); };
        o.on_form = [this](form_question) -> task<form_answer> {
            call();
            co_return json::object();
        };
        o.on_url = [this](url_question q) -> task<elicit_action> {
            if (q.id != "quiet") call();
            co_return elicit_action::accept;
        };
        o.on_sampling = [this](sampling_request) -> task<sampling_result> {
            call();
            co_return sampling_result(content("hm"), "m");
        };
        return o;
    }
    call_options progress() {
        call_options how;
        how.on_progress = [this](const progress_report&) { call(); };
        return how;
    }
    void call() {
        ++called;
        if (act) act();
    }
};

/// The callbacks of both eras, then those of the older era only.
inline constexpr const char* callbacks_of_both[] = {"log",      "list",         "resource", "notification",
                                                    "progress", "disconnected", "question"};
inline constexpr const char* callbacks_of_the_older[] = {"form", "url", "sampling", "complete"};

/// Makes the server trigger this callback. If that needs a call, it is returned, and the test must end it.
inline outcome_of_task* bring_about(client_under_test& t, callback_options& c, std::string_view which) {
    if (which == "log") t.notify("notifications/message", json::object({{"level", "info"}, {"data", "x"}}));
    if (which == "list") t.notify("notifications/tools/list_changed");
    if (which == "resource") t.notify("notifications/resources/updated", json::object({{"uri", "file:///x"}}));
    if (which == "notification") t.notify("notifications/of/its/own");
    if (which == "disconnected") {
        t.wire().eof();
        t.loop->run();
    }
    if (which == "progress") {
        outcome_of_task& o = t.run(t.client->call_tool("slow", {}, c.progress()));
        t.notify("notifications/progress", progress_params(t.expect("tools/call"), 1));
        return &o;
    }
    if (which == "question") {  // in a round of 2026-07-28, or with a request
        if (!t.client->server().modern) return bring_about(t, c, "form");
        outcome_of_task& o = t.run(t.client->call_tool("asks"));
        t.answer(
            t.expect("tools/call"),
            json::parse(R"({"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":
                     {"mode":"form","message":"?","requestedSchema":{"type":"object","properties":{}}}}}})"));
        return &o;
    }
    if (which == "form") t.ask("f", "elicitation/create", empty_form());
    if (which == "url" || which == "complete") {
        json::value params = json::object({{"mode", "url"}, {"message", "?"}, {"url", "https://example.com/"}});
        params.set("elicitationId", which == "url" ? "loud" : "quiet");
        t.ask("u", "elicitation/create", params);
    }
    if (which == "complete") {
        CHECK(t.next()["result"]["action"].if_string() == "accept");
        t.notify("notifications/elicitation/complete", json::object({{"elicitationId", "quiet"}}));
    }
    if (which == "sampling") {
        t.ask("s", "sampling/createMessage",
              json::parse(R"({"maxTokens":1,"messages":[{"role":"user","content":{"type":"text","text":"?"}}]})"));
    }
    return nullptr;
}

/// Calls `f(version, name)` for every callback in every era that has it.
template <class F>
void for_each_callback(F f) {
    for (const char* version : both_eras) {
        for (const char* name : callbacks_of_both) f(std::string(version), std::string(name));
    }
    for (const char* name : callbacks_of_the_older) f(std::string("2025-11-25"), std::string(name));
}

}  // namespace keel::test
