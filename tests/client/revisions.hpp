#pragma once

// Protocol revisions and messages for tests of several revisions.

#include "support/client_harness.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace keel::test {

inline constexpr const char* modern = "2026-07-28";

inline const std::vector<std::string> every_revision = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", modern};
inline const std::vector<std::string> older_revisions = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};

inline std::vector<std::string> revisions_from(std::string_view first) {
    std::vector<std::string> all;
    for (const std::string& each : every_revision) {
        if (each >= first) all.push_back(each);
    }
    return all;
}

inline std::vector<std::string> older_revisions_from(std::string_view first) {
    std::vector<std::string> all;
    for (const std::string& each : older_revisions) {
        if (each >= first) all.push_back(each);
    }
    return all;
}

/// An initialize result of a server with tools.
inline json::value initialize_result(std::string_view version) {
    json::value r = json::parse(R"({"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}})");
    r.set("protocolVersion", version);
    return r;
}

inline std::string joined_names(const std::vector<tool>& tools) {
    std::string all;
    for (const tool& each : tools) all += each.name;
    return all;
}

/// A result of this revision, with the members that 2026-07-28 requires.
inline json::value result_in(std::string_view revision, std::string_view members) {
    json::value r = json::parse(members);
    if (revision != modern) return r;
    if (!r.contains("resultType")) r.set("resultType", "complete");
    if (!r.contains("ttlMs")) r.set("ttlMs", 0);
    if (!r.contains("cacheScope")) r.set("cacheScope", "private");
    return r;
}

inline json::value text_result(std::string_view revision, std::string_view text) {
    json::value block = json::object({{"type", "text"}});
    block.set("text", text);
    json::value r = json::object();
    r.set("content", json::array({block}));
    if (revision == modern) r.set("resultType", "complete");
    return r;
}

/// A result with questions (2026-07-28).
inline json::value questions(std::string_view input_requests, std::string_view state = {}) {
    json::value r = json::object({{"resultType", "input_required"}});
    if (!input_requests.empty()) r.set("inputRequests", json::parse(input_requests));
    if (!state.empty()) r.set("requestState", state);
    return r;
}

/// Sends a request to the client in the way of the revision: as a request, or in a round of a call. Returns its answer,
/// {"result":…} or {"error":…}, or {"failed":…} if the call failed because of it.
inline json::value ask_client(client_under_test& t, std::string_view revision, std::string_view method,
                              const json::value& params = {}) {
    if (revision != modern) {
        t.ask("question", method, params);
        return t.next();
    }
    outcome_of_task& call = t.run(t.client->call_tool("asks"));
    json::value question = json::object({{"method", method}});
    if (!params.is_null()) question.set("params", params);
    json::value result = json::object({{"resultType", "input_required"}});
    result.set("inputRequests", json::object({{"question", question}}));
    t.answer(t.expect("tools/call"), result);
    if (call.failed) return json::object({{"failed", call.text}});
    json::value retry = t.next();
    t.answer(retry, text_result(modern, "ok"));
    CHECK(call.text == "ok");
    return json::object({{"result", retry["params"]["inputResponses"]["question"]}});
}

/// The value of one capability in a request or a handshake: its JSON, or "none".
inline std::string declared(const json::value& request, std::string_view what) {
    const json::value* in_meta = request["params"]["_meta"].find("io.modelcontextprotocol/clientCapabilities");
    const json::value& can = in_meta ? *in_meta : request["params"]["capabilities"];
    return can.contains(what) ? json::to_string(can[what]) : "none";
}

/// The capabilities in the first message of a client with these options.
inline std::string declared_first(client_options options, const std::string& revision, std::string_view what) {
    if (revision != modern) options.version = revision;
    client_under_test t(options);
    outcome_of_task& o = t.run(t.client->connect());
    json::value first = t.next();
    std::string text = declared(first, what);
    t.answer(first, revision == modern
                        ? result_in(modern, R"({"supportedVersions":["2026-07-28"],"capabilities":{}})")
                        : json::parse(R"({"protocolVersion":")" + revision +
                                      R"(","capabilities":{},"serverInfo":{"name":"s","version":"1"}})"));
    spoke(revision);
    CHECK(o.text == "done");
    return text;
}

/// The size of a list: "3".
inline auto count_of = [](const auto& list) { return std::to_string(list.size()); };

}  // namespace keel::test
