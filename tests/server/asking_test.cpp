// Asking the client: one handler, two eras. In the older one the server sends requests, in 2026-07-28 the call ends with its
// questions and comes again with the answers.

#include "support/harness.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>

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

namespace {

const std::string key_a(64, 'a');
const std::string key_b(64, 'b');

struct counts {
    int runs = 0;
    int reservations = 0;
};

task<void> ask_room(context& ctx, elicited<room>& into) { into = co_await ctx.elicit<room>("room", "Which room?"); }
task<void> ask_guest(context& ctx, elicited<guest>& into) { into = co_await ctx.elicit<guest>("guest", "Who comes?"); }

/// Three rounds, the second with two questions, and one step that must not happen twice.
task<std::string> book(context& ctx, counts& seen) {
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

using answers = std::map<std::string, std::string>;  // by message: the JSON of an ElicitResult
const answers everything = {
    {"Where to?", R"({"action":"accept","content":{"city":"Oslo","days":3}})"},
    {"Which room?", R"({"action":"accept","content":{"kind":"twin","sea_view":true}})"},
    {"Who comes?", R"({"action":"accept","content":{"name":"Ada"}})"},
    {"Book it?", R"({"action":"accept","content":{"yes":true}})"},
};
constexpr const char* booked = "Ada goes to Oslo for 3 days, twin with a view, reservation 1";

constexpr const char* all_capabilities =
    R"({"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}},"roots":{}})";

std::string modern_meta_with(std::string_view capabilities) { return meta_with("\"2026-07-28\"", capabilities); }

/// A server with the booking tool. Several of them may share keys, as replicas do, or a restarted process.
class hotel {
public:
    explicit hotel(counts& seen, std::function<void(asking_options&)> how = {}, std::string principal = {}) {
        server_settings s;
        s.principal = std::move(principal);
        s.configure = [how](server_options& options) {
            options.asking.keys = {key_a};
            if (how) how(options.asking);
        };
        under_test.emplace(std::move(s));
        under_test->tool("book", [&seen](context& ctx) { return book(ctx, seen); });
        under_test->tool("other", [&seen](context& ctx) { return book(ctx, seen); });
    }
    std::optional<server_under_test> under_test;
    server_under_test* operator->() { return &*under_test; }
};

/// One call of the modern era: the whole message that answered it.
json::value modern_call(server_under_test& s, std::string_view id, std::string_view tool, std::string_view more = "",
                        std::string_view capabilities = all_capabilities) {
    std::string params = R"({"name":")" + std::string(tool) + R"(","arguments":{},)";
    if (!more.empty()) params += std::string(more) + ",";
    s.send(request_line(id, "tools/call", params + modern_meta_with(capabilities) + "}"));
    return s.seen.answer_message(id);
}

/// The members of the next call that answer a result which asks.
std::string retry(const json::value& asked, const answers& known) {
    json::value responses = json::object();
    for (const json::member& m : asked["inputRequests"].members()) {
        auto at = known.find(std::string(m.content["params"]["message"].as_string()));
        if (at != known.end()) responses.append(m.key(), json::parse(at->second));
    }
    return R"("inputResponses":)" + json::to_string(responses) + R"(,"requestState":)" +
           json::to_string(asked["requestState"]);
}

std::string text_of_reply(const json::value& message) {
    if (message.contains("error")) return "error " + std::string(message["error"]["message"].as_string());
    return std::string(message["result"]["content"].at(0)["text"].as_string());
}

std::set<std::string> asked_keys(const json::value& message) {
    std::set<std::string> keys;
    for (const json::member& m : message["result"]["inputRequests"].members()) keys.emplace(m.key());
    return keys;
}

}  // namespace

TEST_CASE("the same handler asks in three rounds on 2026-07-28 (MRTR-01, MRTR-03, MRTR-04, BASE-16)") {
    counts seen;
    hotel h(seen);
    h->start();
    json::value first = modern_call(*h.under_test, "1", "book");
    REQUIRE(first["result"]["resultType"].as_string() == "input_required");
    CHECK(asked_keys(first) == std::set<std::string>{"trip"});
    CHECK_FALSE(first["result"].contains("ttlMs"));
    json::value second = modern_call(*h.under_test, "2", "book", retry(first["result"], everything));
    CHECK(asked_keys(second) == std::set<std::string>{"room", "guest"});
    json::value third = modern_call(*h.under_test, "3", "book", retry(second["result"], everything));
    CHECK(asked_keys(third) == std::set<std::string>{"sure"});
    json::value last = modern_call(*h.under_test, "4", "book", retry(third["result"], everything));
    CHECK(last["result"]["resultType"].as_string() == "complete");
    CHECK(text_of_reply(last) == booked);
    CHECK(seen.runs == 4);
    CHECK(seen.reservations == 1);
}

TEST_CASE("the same handler asks by requests of its own on 2025-06-18 and 2025-11-25 (ELI-02, LIFE-04)") {
    for (const char* version : {"2025-06-18", "2025-11-25"}) {
        CAPTURE(version);
        counts seen;
        hotel h(seen);
        h->start();
        h->send(server_under_test::initialize_line("\"init\"", version, all_capabilities));
        h->send(notification_line("notifications/initialized"));
        h->seen.take();
        h->call("1", "book");
        std::size_t asked = 0;
        for (bool more = true; more;) {
            more = false;
            for (const std::string& line : h->seen.take()) {
                json::value m = json::parse(line);
                if (m["method"].if_string() != std::string_view("elicitation/create")) continue;
                ++asked;
                more = true;
                CHECK(m["params"].contains("mode") == (std::string_view(version) == "2025-11-25"));
                h->send(result_line(json::to_string(m["id"]),
                                    everything.at(std::string(m["params"]["message"].as_string()))));
            }
        }
        CHECK(asked == 4);
        CHECK(h->answer("1") == booked);
        CHECK(seen.runs == 1);
        CHECK(seen.reservations == 1);
    }
}

TEST_CASE("declining and cancelling are answers (ELI-13)") {
    for (auto [action, text] : {std::pair("decline", "declined"), std::pair("cancel", "cancelled")}) {
        counts seen;
        hotel h(seen);
        h->start();
        answers no = everything;
        no["Where to?"] = R"({"action":")" + std::string(action) + "\"}";
        json::value first = modern_call(*h.under_test, "1", "book");
        CHECK(text_of_reply(modern_call(*h.under_test, "2", "book", retry(first["result"], no))) == text);
    }
}

TEST_CASE(
    "a missing answer is requested again, and answers without a question are ignored (MRTR-08, MRTR-15, MRTR-16)") {
    counts seen;
    hotel h(seen);
    h->start();
    json::value first = modern_call(*h.under_test, "1", "book");
    json::value again =
        modern_call(*h.under_test, "2", "book",
                    R"("inputResponses":{"sure":{"action":"accept","content":{"yes":true}}},"requestState":)" +
                        json::to_string(first["result"]["requestState"]));
    CHECK(asked_keys(again) == std::set<std::string>{"trip"});
    answers half = everything;
    half.erase("Who comes?");
    json::value second = modern_call(*h.under_test, "3", "book", retry(again["result"], half));
    json::value third = modern_call(*h.under_test, "4", "book", retry(second["result"], half));
    CHECK(asked_keys(third) == std::set<std::string>{"guest"});
    json::value fourth = modern_call(*h.under_test, "5", "book", retry(third["result"], everything));
    // "sure" was answered before it was asked: that does not count.
    CHECK(asked_keys(fourth) == std::set<std::string>{"sure"});
}

TEST_CASE("an invalid answer is refused with its key (MRTR-15, ELI-18)") {
    counts seen;
    hotel h(seen);
    h->start();
    json::value first = modern_call(*h.under_test, "1", "book");
    auto with = [&](std::string_view id, const std::string& trip_answer) {
        answers bad = everything;
        bad["Where to?"] = trip_answer;
        return modern_call(*h.under_test, id, "book", retry(first["result"], bad));
    };
    json::value wrong = with("2", R"({"action":"accept","content":{"city":"Oslo","days":99}})");
    CHECK(wrong["error"]["code"].as_int() == -32602);
    CHECK(wrong["error"]["message"].as_string().find("trip.content.days") != std::string_view::npos);
    CHECK(with("3", R"({"action":"maybe"})")["error"]["code"].as_int() == -32602);
    CHECK(with("4", "7")["error"]["code"].as_int() == -32602);
    CHECK(modern_call(*h.under_test, "5", "book", R"("inputResponses":[])")["error"]["code"].as_int() == -32602);
    CHECK(modern_call(*h.under_test, "6", "book", R"("requestState":5)")["error"]["code"].as_int() == -32602);
}

TEST_CASE(
    "an invalid requestState is refused with one error text, and the reason is only logged (MRTR-06, "
    "MRTR-14, ELI-12)") {
    counts seen;
    auto now = std::make_shared<std::chrono::system_clock::time_point>(std::chrono::system_clock::now());
    auto timed = [now](asking_options& how) {
        how.clock = [now] { return *now; };
        how.expires_after = std::chrono::minutes(5);
    };
    hotel h(seen, timed, "ada");
    h->start();
    json::value first = modern_call(*h.under_test, "1", "book");
    REQUIRE(asked_keys(first).size() == 1);
    std::string good = retry(first["result"], everything);
    std::set<std::string> texts;
    auto refused = [&](server_under_test& s, std::string_view id, std::string_view tool, const std::string& more) {
        json::value answer = modern_call(s, id, tool, more);
        CHECK(answer["error"]["code"].as_int() == -32602);
        texts.emplace(answer["error"]["message"].as_string());
    };

    SUBCASE("tampered with") {
        std::string bad = good;
        std::size_t at = bad.find("requestState\":\"") + 40;
        bad[at] = bad[at] == 'A' ? 'B' : 'A';
        refused(*h.under_test, "2", "book", bad);
    }
    SUBCASE("cut short, empty, or not Base64") {
        refused(*h.under_test, "2", "book", R"("requestState":"")");
        refused(*h.under_test, "3", "book", R"("requestState":"AAAA")");
        refused(*h.under_test, "4", "book", R"("requestState":"*")");
    }
    SUBCASE("expired") {
        *now += std::chrono::minutes(6);
        refused(*h.under_test, "2", "book", good);
    }
    SUBCASE("of another tool") { refused(*h.under_test, "2", "other", good); }
    SUBCASE("of another principal") {
        hotel other(seen, timed, "eve");
        other->start();
        refused(*other.under_test, "2", "book", good);
    }
    SUBCASE("of another service") {
        hotel other(
            seen,
            [&](asking_options& how) {
                timed(how);
                how.audience = "elsewhere";
            },
            "ada");
        other->start();
        refused(*other.under_test, "2", "book", good);
    }
    SUBCASE("sealed with a key that is gone") {
        hotel other(
            seen,
            [&](asking_options& how) {
                timed(how);
                how.keys = {key_b};
            },
            "ada");
        other->start();
        refused(*other.under_test, "2", "book", good);
        CHECK(other->logged("requestState rejected"));
    }
    CHECK(texts == std::set<std::string>{"requestState is not valid for this request"});
}

TEST_CASE("a state survives a restart and a key rotation (MRTR-06, BASE-19, BASE-22)") {
    counts seen;
    std::optional<hotel> h(std::in_place, seen);
    (*h)->start();
    json::value first = modern_call(*h->under_test, "1", "book");
    h.reset();
    // Another process, with a new key beside the old one.
    hotel after(seen, [](asking_options& how) { how.keys = {key_b, key_a}; });
    after->start();
    json::value second = modern_call(*after.under_test, "1", "book", retry(first["result"], everything));
    CHECK(asked_keys(second).size() == 2);
    // And one that has forgotten the old key, in the round after.
    hotel last(seen, [](asking_options& how) { how.keys = {key_b}; });
    last->start();
    json::value third = modern_call(*last.under_test, "1", "book", retry(second["result"], everything));
    json::value done = modern_call(*last.under_test, "2", "book", retry(third["result"], everything));
    CHECK(text_of_reply(done) == booked);
    CHECK(seen.reservations == 1);
}

TEST_CASE("a server without keys creates a random one (MRTR-06)") {
    counts seen;
    auto keyless = [](asking_options& how) { how.keys.clear(); };
    hotel one(seen, keyless);
    hotel two(seen, keyless);
    one->start();
    two->start();
    json::value first = modern_call(*one.under_test, "1", "book");
    json::value elsewhere = modern_call(*two.under_test, "1", "book", retry(first["result"], everything));
    CHECK(elsewhere["error"]["code"].as_int() == -32602);
    CHECK(asked_keys(modern_call(*one.under_test, "2", "book", retry(first["result"], everything))).size() == 2);
}

TEST_CASE("with single_use a state is accepted only once (MRTR-07)") {
    counts seen;
    hotel h(seen, [](asking_options& how) { how.single_use = true; });
    h->start();
    json::value first = modern_call(*h.under_test, "1", "book");
    CHECK(asked_keys(modern_call(*h.under_test, "2", "book", retry(first["result"], everything))).size() == 2);
    CHECK(modern_call(*h.under_test, "3", "book", retry(first["result"], everything))["error"]["code"].as_int() ==
          -32602);
    CHECK(seen.reservations == 1);
}

TEST_CASE("the number of rounds and the size of the state are limited") {
    counts seen;
    hotel h(seen, [](asking_options& how) { how.max_rounds = 2; });
    h->start();
    json::value first = modern_call(*h.under_test, "1", "book");
    json::value second = modern_call(*h.under_test, "2", "book", retry(first["result"], everything));
    CHECK(second["error"]["message"].as_string() == "too many rounds of questions to the client");
    hotel small(seen, [](asking_options& how) { how.max_state = 100; });
    small->start();
    json::value begin = modern_call(*small.under_test, "1", "book");
    json::value full = modern_call(*small.under_test, "2", "book", retry(begin["result"], everything));
    CHECK(full["error"]["message"].as_string() == "the state of the call is too large");
}

TEST_CASE(
    "a client without the capability is not asked, and the error names the capability (VER-09, VER-10, MRTR-05, "
    "ELI-01, ELI-02, SAM-01, SAM-02, ROOT-01)") {
    server_under_test s;
    s.tool("form", [](context& ctx) -> task<std::string> {
        auto g = co_await ctx.elicit<guest>("g", "Who?");
        co_return g->name;
    });
    s.tool("url", [](context& ctx) -> task<std::string> {
        auto u = co_await ctx.elicit_url("u", "Pay", "https://example.com/pay");
        co_return u ? "agreed" : "no";
    });
    s.tool("sample", [](context& ctx) -> task<std::string> {
        sampling_request ask("Write");
        auto r = co_await ctx.sample("s", std::move(ask));
        co_return r.text();
    });
    s.tool("sample_tools", [](context& ctx) -> task<std::string> {
        sampling_request ask("Write");
        ask.tool_choice = tool_choice::automatic;
        auto r = co_await ctx.sample("s", std::move(ask));
        co_return r.text();
    });
    s.tool("roots", [](context& ctx) -> task<std::string> {
        auto r = co_await ctx.list_roots();
        co_return std::to_string(r.size());
    });
    s.start();
    auto required = [&](std::string_view id, std::string_view tool, std::string_view declared) {
        json::value answer = modern_call(s, id, tool, "", declared);
        CHECK(answer["error"]["code"].as_int() == -32021);
        return json::to_string(answer["error"]["data"]["requiredCapabilities"]);
    };
    CHECK(required("1", "form", "{}") == R"({"elicitation":{"form":{}}})");
    CHECK(required("2", "form", R"({"elicitation":{"url":{}}})") == R"({"elicitation":{"form":{}}})");
    CHECK(required("3", "url", R"({"elicitation":{}})") == R"({"elicitation":{"url":{}}})");
    CHECK(required("4", "sample", R"({"elicitation":{}})") == R"({"sampling":{}})");
    CHECK(required("5", "sample_tools", R"({"sampling":{}})") == R"({"sampling":{"tools":{}}})");
    CHECK(required("6", "roots", "{}") == R"({"roots":{}})");
    // An empty object is forms alone.
    CHECK(asked_keys(modern_call(s, "7", "form", "", R"({"elicitation":{}})")) == std::set<std::string>{"g"});
}

TEST_CASE("asking a legacy client without the capability fails the call, not the connection (ELI-01, SAM-01, VER-09)") {
    for (const char* version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
        CAPTURE(version);
        server_under_test s;
        s.tool("form", [](context& ctx) -> task<std::string> {
            std::string said;
            try {
                auto g = co_await ctx.elicit<guest>("g", "Who?");
                said = g->name;
            } catch (const error& e) {
                said = e.kind() == error_kind::unavailable ? "unavailable" : "other";
            }
            co_return said;
        });
        s.tool("bare", [](context& ctx) -> task<std::string> {
            auto g = co_await ctx.elicit<guest>("g", "Who?");
            co_return g->name;
        });
        s.start(version);
        s.call("1", "form");
        CHECK(s.answer("1") == "unavailable");
        s.call("2", "bare");
        CHECK(s.answer("2") == "error -32600 the client does not support elicitation forms");
    }
}

TEST_CASE("asking in a method that does not support it fails with an error (MRTR-02)") {
    server_under_test s;
    server_side::method_offer offer;
    offer.name = "example/ask";
    offer.handler.coroutine = [](context ctx, json::value) -> task<detail::reply> {
        auto g = co_await ctx.elicit<guest>("g", "Who?");
        detail::reply out;
        out.content = "{}";
        co_return out;
    };
    s.core->methods.put(std::make_shared<const server_side::method_offer>(std::move(offer)));
    s.start();
    s.send(request_line("1", "example/ask", "{" + modern_meta_with(all_capabilities) + "}"));
    CHECK(s.answer("1") == "error -32603 example/ask cannot send requests to the client in this protocol revision");
}

TEST_CASE("sampling, roots and URL elicitation work in all revisions (SAM-01, ROOT-01, ELI-02, ELI-15, ELI-20)") {
    auto make = [](server_under_test& s) {
        s.tool("all", [](context& ctx) -> task<std::string> {
            sampling_request ask("Write a line", 50);
            ask.system_prompt = "Be brief";
            sampling_result line = co_await ctx.sample("line", std::move(ask));
            std::vector<root> roots = co_await ctx.list_roots();
            url_elicited paid = co_await ctx.elicit_url("pay", "Please pay", "https://example.com/pay");
            ctx.url_elicitation_complete(paid);
            co_return line.text() + " by " + line.model + ", " + std::to_string(roots.size()) + " roots, " +
                (paid ? "paid" : "unpaid");
        });
    };
    const std::string said = R"({"role":"assistant","content":{"type":"text","text":"Hi"},"model":"m1"})";
    const std::string roots = R"({"roots":[{"uri":"file:///a","name":"a"},{"uri":"file:///b"}]})";
    SUBCASE("2026-07-28") {
        server_under_test s;
        make(s);
        s.start();
        json::value one = modern_call(s, "1", "all");
        CHECK(one["result"]["inputRequests"]["line"]["method"].as_string() == "sampling/createMessage");
        CHECK(one["result"]["inputRequests"]["line"]["params"]["maxTokens"].as_int() == 50);
        auto next = [](const json::value& m, const std::string& key, const std::string& answer) {
            return R"("inputResponses":{")" + key + "\":" + answer + R"(},"requestState":)" +
                   json::to_string(m["result"]["requestState"]);
        };
        json::value two = modern_call(s, "2", "all", next(one, "line", said));
        CHECK(two["result"]["inputRequests"]["roots"]["method"].as_string() == "roots/list");
        json::value three = modern_call(s, "3", "all", next(two, "roots", roots));
        const json::value& url = three["result"]["inputRequests"]["pay"]["params"];
        CHECK(url["url"].as_string() == "https://example.com/pay");
        CHECK_FALSE(url.contains("elicitationId"));
        json::value done = modern_call(s, "4", "all", next(three, "pay", R"({"action":"accept"})"));
        CHECK(text_of_reply(done) == "Hi by m1, 2 roots, paid");
        for (const std::string& line : s.seen.all()) CHECK(line.find("elicitation/complete") == std::string::npos);
    }
    SUBCASE("2025-11-25") {
        server_under_test s;
        make(s);
        s.start();
        s.send(server_under_test::initialize_line("\"init\"", "2025-11-25", all_capabilities));
        s.send(notification_line("notifications/initialized"));
        s.seen.take();
        s.call("1", "all");
        std::string id;
        std::string complete;
        for (bool more = true; more;) {
            more = false;
            for (const std::string& line : s.seen.take()) {
                json::value m = json::parse(line);
                auto method = m["method"].if_string().value_or("");
                std::string answer;
                if (method == "sampling/createMessage") answer = said;
                if (method == "roots/list") answer = roots;
                if (method == "elicitation/create") {
                    id = m["params"]["elicitationId"].as_string();
                    answer = R"({"action":"accept"})";
                }
                if (method == "notifications/elicitation/complete") complete = m["params"]["elicitationId"].as_string();
                if (answer.empty()) continue;
                more = true;
                s.send(result_line(json::to_string(m["id"]), answer));
            }
        }
        CHECK(s.answer("1") == "Hi by m1, 2 roots, paid");
        CHECK_FALSE(id.empty());
        CHECK(complete == id);
    }
}

TEST_CASE("an invalid sampling conversation is refused before it is sent (SAM-04, SAM-05)") {
    const content use_a = content::tool_use("a", "weather", json::object());
    const content a_done = content::tool_answer("a", {content("sunny")});
    const content b_done = content::tool_answer("b", {content("sunny")});
    const struct {
        std::vector<content> after_the_use;
        const char* problem;  // "": it is sent
    } cases[] = {
        {{content("and?")}, "message 2: tool results must match the tool uses of the previous message"},
        {{b_done}, "message 2: tool results must match the tool uses of the previous message"},
        {{a_done, b_done}, "message 2: tool results must match the tool uses of the previous message"},
        {{a_done, content("and?")}, "message 2: a message with tool results must contain nothing else"},
        {{a_done}, ""},
    };
    for (std::string_view version : {"2025-11-25", "2026-07-28"}) {
        for (const auto& one : cases) {
            CAPTURE(version);
            CAPTURE(one.problem);
            server_under_test s;
            s.tool("talk", [&](context& ctx) -> task<std::string> {
                std::vector<sampling_message> talk;
                talk.emplace_back(role::user, content("Weather?"));
                talk.emplace_back(role::assistant, use_a);
                talk.emplace_back(role::user, one.after_the_use);
                sampling_request ask(std::move(talk));
                auto r = co_await ctx.sample("s", std::move(ask));
                co_return r.text();
            });
            s.start();
            bool sent = std::string_view(one.problem).empty();
            if (version == "2026-07-28") {
                json::value answer = modern_call(s, "1", "talk");
                CHECK(asked_keys(answer).contains("s") == sent);
            } else {
                s.send(server_under_test::initialize_line("\"init\"", version, all_capabilities));
                s.send(notification_line("notifications/initialized"));
                s.call("1", "talk");
                CHECK(s.seen.with_method("sampling/createMessage").size() == (sent ? 1 : 0));
            }
            if (!sent) {
                CHECK(s.seen.answer_message("1")["error"]["code"].as_int() == -32603);
                CHECK(s.logged(one.problem));
            }
        }
    }
}

TEST_CASE("a handler that is ended by its question finishes its cleanup before the result is sent (B15, F7)") {
    server_under_test s;
    std::vector<std::string> order;
    s.tool("careful", [&](context& ctx) -> task<std::string> {
        bool ended = false;
        try {
            auto g = co_await ctx.elicit<guest>("g", "Who?");
            co_return g->name;
        } catch (const cancelled&) {
            ended = true;
        }
        order.push_back("cleaning");
        co_await ctx.sleep(100ms);
        order.push_back("clean");
        co_return ended ? "not what the client gets" : "";
    });
    s.start();
    s.send(request_line("1", "tools/call", R"({"name":"careful",)" + modern_meta_with(all_capabilities) + "}"));
    CHECK(order == std::vector<std::string>{"cleaning"});
    CHECK(s.answers_to("1") == 0);
    s.advance(100ms);
    CHECK(order == std::vector<std::string>{"cleaning", "clean"});
    CHECK(asked_keys(s.seen.answer_message("1")) == std::set<std::string>{"g"});
}

TEST_CASE("a handler that does not stop after its question does not delay the client") {
    server_under_test s;
    s.tool("stuck", [&](context& ctx) -> task<std::string> {
        try {
            auto g = co_await ctx.elicit<guest>("g", "Who?");
            co_return g->name;
        } catch (const cancelled&) {
        }
        co_await ctx.sleep(60s);
        co_return "late";
    });
    s.start();
    s.send(request_line("1", "tools/call", R"({"name":"stuck",)" + modern_meta_with(all_capabilities) + "}"));
    CHECK(s.answers_to("1") == 0);
    s.advance(s.settings.bounds.cleanup_grace);
    CHECK(asked_keys(s.seen.answer_message("1")) == std::set<std::string>{"g"});
    s.advance(60s);
    CHECK(s.answers_to("1") == 1);
}

TEST_CASE("a round ends when nothing in the handler can continue: a question waits for work beside it") {
    server_under_test s;
    s.tool("two", [](context& ctx) -> task<std::string> {
        elicited<room> sleeping;
        elicited<guest> visitor;
        co_await with_scope([&](scope& both) -> task<void> {
            both.spawn(ask_room(ctx, sleeping));
            auto later = [](context& c, elicited<guest>& into) -> task<void> {
                co_await c.sleep(50ms);
                into = co_await c.elicit<guest>("guest", "Who comes?");
            };
            both.spawn(later(ctx, visitor));
            co_return;
        });
        co_return visitor->name;
    });
    s.start();
    s.send(request_line("1", "tools/call", R"({"name":"two",)" + modern_meta_with(all_capabilities) + "}"));
    CHECK(s.answers_to("1") == 0);
    s.advance(50ms);
    CHECK(asked_keys(s.seen.answer_message("1")) == std::set<std::string>{"room", "guest"});
}

TEST_CASE("cancelling a call that has asked: no answer, and the question is withdrawn (CAN-04, B7)") {
    SUBCASE("2026-07-28, while something beside the question runs") {
        server_under_test s;
        s.tool("two", [](context& ctx) -> task<std::string> {
            elicited<room> sleeping;
            co_await with_scope([&](scope& both) -> task<void> {
                both.spawn(ask_room(ctx, sleeping));
                auto wait = [](context& c) -> task<void> { co_await c.sleep(1h); };
                both.spawn(wait(ctx));
                co_return;
            });
            co_return "";
        });
        s.start();
        s.send(request_line("1", "tools/call", R"({"name":"two",)" + modern_meta_with(all_capabilities) + "}"));
        s.cancel("1");
        CHECK(s.answers_to("1") == 0);
        CHECK(s.in_flight() == 0);
    }
    SUBCASE("2025-11-25") {
        counts seen;
        hotel h(seen);
        h->start();
        h->send(server_under_test::initialize_line("\"init\"", "2025-11-25", all_capabilities));
        h->send(notification_line("notifications/initialized"));
        h->call("1", "book");
        h->seen.take();
        h->cancel("1");
        lines said = h->seen.take();
        REQUIRE(said.size() == 1);
        CHECK(said[0].find("notifications/cancelled") != std::string::npos);
        CHECK(h->answers_to("1") == 0);
    }
}

TEST_CASE("a question whose coroutine the handler cancels is not asked") {
    server_under_test s;
    s.tool("first", [](context& ctx) -> task<std::string> {
        elicited<room> sleeping;
        std::string failed;
        try {
            co_await with_scope([&](scope& both) -> task<void> {
                both.spawn(ask_room(ctx, sleeping));
                auto fail = [](context& c) -> task<void> {
                    co_await c.yield();
                    throw std::runtime_error("no rooms today");
                };
                both.spawn(fail(ctx));
                co_return;
            });
        } catch (const std::runtime_error& e) {
            failed = e.what();
        }
        auto visitor = co_await ctx.elicit<guest>("guest", "Who comes?");
        co_return failed + visitor->name;
    });
    s.start();
    CHECK(asked_keys(modern_call(s, "1", "first")) == std::set<std::string>{"guest"});
}

TEST_CASE("two questions with the same key are an error that is logged") {
    server_under_test s;
    s.tool("twice", [](context& ctx) -> task<std::string> {
        elicited<room> a;
        elicited<room> b;
        co_await with_scope([&](scope& both) -> task<void> {
            both.spawn(ask_room(ctx, a));
            both.spawn(ask_room(ctx, b));
            co_return;
        });
        co_return "";
    });
    s.start();
    CHECK(modern_call(s, "1", "twice")["error"]["code"].as_int() == -32603);
    CHECK(s.logged("duplicate key of questions in one call"));
}

TEST_CASE("a form outside the supported schema subset is refused with its key") {
    server_under_test s;
    s.tool("deep", [](context& ctx) -> task<std::string> {
        json::value form = json::parse(
            R"({"type":"object","properties":{"inner":{"type":"object","properties":{"a":{"type":"string"}}}}})");
        auto answer = co_await ctx.elicit("f", "Fill in", std::move(form));
        co_return "";
    });
    s.start();
    CHECK(modern_call(s, "1", "deep")["error"]["code"].as_int() == -32603);
    CHECK(s.logged("inner"));
}

TEST_CASE("META-03: requests to the client carry the trace context of their call") {
    for (const char* version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
        CAPTURE(version);
        server_under_test s;
        s.tool("roots", [](context& ctx) -> task<std::string> {
            auto r = co_await ctx.list_roots();
            co_return std::to_string(r.size());
        });
        s.start(version);
        const std::string parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        s.send(request_line("1", "tools/call",
                            R"({"name":"roots","_meta":{"traceparent":")" + parent + R"(","tracestate":"broken"}})"));
        lines asked = s.seen.take();
        REQUIRE(asked.size() == 1);
        json::value m = json::parse(asked[0]);
        CHECK(m["params"]["_meta"]["traceparent"].as_string() == parent);
        CHECK_FALSE(m["params"]["_meta"].contains("tracestate"));
        s.send(result_line(json::to_string(m["id"]), R"({"roots":[]})"));
        CHECK(s.answer("1") == "0");
    }
}

}  // namespace keel::test
