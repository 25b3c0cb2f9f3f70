#pragma once

// Helpers of the tests that end a client's connection.

#include "client/lifecycle_messages.hpp"
#include "support/gate.hpp"

namespace keel::test {

/// A detached task. Tests start it inside a callback, where the loop must not be run.
struct started_task {
    explicit started_task(loop& l) : line(l) {}
    detail::activity line;
    bool done = false;
};
inline std::shared_ptr<started_task> start_close(client_under_test& t) {
    auto s = std::make_shared<started_task>(*t.loop);
    detail::start(s->line, t.client->close(), [s](detail::outcome<void>) { s->done = true; });
    return s;
}

/// A client whose form handler waits at a gate.
struct client_with_forms {
    explicit client_with_forms(client_options options = {}) {
        options.on_form = [this](form_question) -> task<form_answer> {
            try {
                co_await dialogs.pass();
            } catch (const cancelled&) {
                ++stopped;
                throw;
            }
            co_return json::object();
        };
        options.on_disconnected = [this](const disconnection& d) { ends.push_back(d.cause); };
        t.emplace(options);
        t->connect("2025-11-25");
    }
    void ask(int n) {
        for (int i = 0; i < n; ++i) t->ask(i, "elicitation/create", empty_form());
    }

    gate dialogs;
    std::size_t stopped = 0;
    std::vector<std::string> ends;
    std::optional<client_under_test> t;
};

}  // namespace keel::test
