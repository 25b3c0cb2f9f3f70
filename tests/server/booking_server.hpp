#pragma once

// A tool that asks the client several questions, and a server that has it.

#include "support/harness.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace keel::test {

struct trip {
    std::string city;
    int days = 1;
};
KEEL_DESCRIBE(trip, (city, "Which city", keel::min_length(2)), (days, keel::minimum(1), keel::maximum(30)))

enum class bed { single, twin };
KEEL_DESCRIBE_ENUM(bed, single, twin)
struct room {
    bed kind = bed::single;
    bool sea_view = false;
};
KEEL_DESCRIBE(room, kind, sea_view)

struct guest {
    std::string name;
};
KEEL_DESCRIBE(guest, name)

struct confirmation {
    bool yes = false;
};
KEEL_DESCRIBE(confirmation, yes)

inline const std::string key_a(64, 'a');
inline const std::string key_b(64, 'b');

struct booking_counts {
    int runs = 0;
    int reservations = 0;
};

inline task<void> ask_room(context& ctx, elicited<room>& into) {
    into = co_await ctx.elicit<room>("room", "Which room?");
}
inline task<void> ask_guest(context& ctx, elicited<guest>& into) {
    into = co_await ctx.elicit<guest>("guest", "Who comes?");
}

/// Asks in three rounds, two questions in the second one, and runs one step with once().
inline task<std::string> book_trip(context& ctx, booking_counts& seen) {
    ++seen.runs;
    auto where = co_await ctx.elicit<trip>("trip", "Where to?");
    if (!where) co_return where.action == elicit_action::decline ? "declined" : "cancelled";
    int reservation = co_await ctx.once("reserve", [&] { return ++seen.reservations; });
    elicited<room> sleeping;
    elicited<guest> visitor;
    co_await with_scope([&](scope& both) -> task<void> {
        both.spawn(ask_room(ctx, sleeping));
        both.spawn(ask_guest(ctx, visitor));
        co_return;
    });
    if (!sleeping || !visitor) co_return "no room";
    auto sure = co_await ctx.elicit<confirmation>("sure", "Book it?");
    if (!sure || !sure->yes) co_return "not booked";
    co_return visitor->name + " goes to " + where->city + " for " + std::to_string(where->days) + " days, " +
        (sleeping->kind == bed::twin ? "twin" : "single") + (sleeping->sea_view ? " with a view" : "") +
        ", reservation " + std::to_string(reservation);
}

using form_answers = std::map<std::string, std::string>;  // question text to ElicitResult JSON
inline const form_answers accept_all = {
    {"Where to?", R"({"action":"accept","content":{"city":"Oslo","days":3}})"},
    {"Which room?", R"({"action":"accept","content":{"kind":"twin","sea_view":true}})"},
    {"Who comes?", R"({"action":"accept","content":{"name":"Ada"}})"},
    {"Book it?", R"({"action":"accept","content":{"yes":true}})"},
};
inline constexpr const char* booked_text = "Ada goes to Oslo for 3 days, twin with a view, reservation 1";

inline constexpr const char* all_capabilities =
    R"({"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}},"roots":{}})";

inline std::string modern_meta_with(std::string_view capabilities) { return meta_with("\"2026-07-28\"", capabilities); }

/// A server with the booking tool. Several servers can share keys, like replicas or a restarted process.
class booking_server {
public:
    explicit booking_server(booking_counts& seen, std::function<void(asking_options&)> how = {},
                            std::string principal = {}) {
        server_settings s;
        s.principal = std::move(principal);
        s.configure = [how](server_options& options) {
            options.asking.keys = {key_a};
            if (how) how(options.asking);
        };
        under_test.emplace(std::move(s));
        under_test->tool("book", [&seen](context& ctx) { return book_trip(ctx, seen); });
        under_test->tool("other", [&seen](context& ctx) { return book_trip(ctx, seen); });
    }
    std::optional<server_under_test> under_test;
    server_under_test* operator->() { return &*under_test; }
};

/// Calls a tool in 2026-07-28 and returns the whole response message.
inline json::value modern_call(server_under_test& s, std::string_view id, std::string_view tool,
                               std::string_view more = "", std::string_view capabilities = all_capabilities) {
    std::string params = R"({"name":")" + std::string(tool) + R"(","arguments":{},)";
    if (!more.empty()) params += std::string(more) + ",";
    s.send(request_line(id, "tools/call", params + modern_meta_with(capabilities) + "}"));
    return s.seen.answer_message(id);
}

/// The params members that answer the input requests of a result.
inline std::string retry_params(const json::value& asked, const form_answers& known) {
    json::value responses = json::object();
    for (const json::member& m : asked["inputRequests"].members()) {
        auto at = known.find(std::string(m.content["params"]["message"].as_string()));
        if (at != known.end()) responses.append(m.key(), json::parse(at->second));
    }
    return R"("inputResponses":)" + json::to_string(responses) + R"(,"requestState":)" +
           json::to_string(asked["requestState"]);
}

inline std::string reply_text(const json::value& message) {
    if (message.contains("error")) return "error " + std::string(message["error"]["message"].as_string());
    return std::string(message["result"]["content"].at(0)["text"].as_string());
}

inline std::set<std::string> asked_keys(const json::value& message) {
    std::set<std::string> keys;
    for (const json::member& m : message["result"]["inputRequests"].members()) keys.emplace(m.key());
    return keys;
}

}  // namespace keel::test
