#pragma once

// Messages of the server for the tests of the request lifecycle.

#include "support/client_harness.hpp"

#include <array>

namespace keel::test {

/// One revision of each era: common behavior is tested in both.
inline constexpr std::array<const char*, 2> both_eras = {"2025-11-25", "2026-07-28"};

inline json::value text_result(std::string_view text) {
    json::value block = json::object({{"type", "text"}, {"text", text}});
    json::value result = json::object({{"resultType", "complete"}});
    result.set("content", json::array({block}));
    return result;
}

inline json::value response(const json::value& request, json::value result) {
    json::value m;
    m.set("jsonrpc", "2.0");
    m.set("id", request["id"]);
    m.set("result", std::move(result));
    return m;
}

inline json::value progress_params(const json::value& request, double progress) {
    json::value params;
    params.set("progressToken", request["params"]["_meta"]["progressToken"]);
    params.set("progress", progress);
    return params;
}

inline json::value cancel_params(json::value id, std::string_view reason = {}) {
    json::value params;
    params.set("requestId", std::move(id));
    if (!reason.empty()) params.set("reason", reason);
    return params;
}

inline std::string line_of(std::string_view method, json::value params, json::value id = {}) {
    json::value m;
    m.set("jsonrpc", "2.0");
    if (!id.is_null()) m.set("id", std::move(id));
    m.set("method", method);
    if (!params.is_null()) m.set("params", std::move(params));
    return json::to_string(m) + "\n";
}

/// The parameters of elicitation/create: an empty form.
inline json::value empty_form(std::string_view message = "?") {
    json::value params = json::parse(R"({"requestedSchema":{"type":"object","properties":{}}})");
    params.set("message", message);
    return params;
}

/// Waits for the next message, which a worker thread writes.
inline json::value next_from_thread(client_under_test& t) {
    for (;;) {
        if (json::value m = t.next(); !m.is_null()) return m;
        t.loop->wait_for_work();
        t.loop->run();
    }
}

/// The next message must be the cancel of this request.
inline void expect_cancel(client_under_test& t, const json::value& request) {
    json::value m = t.expect("notifications/cancelled");
    CHECK(json::to_string(m["params"]["requestId"]) == json::to_string(request["id"]));
}

}  // namespace keel::test
