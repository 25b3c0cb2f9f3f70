// requestState: how it is protected, how long it is valid, and its limits.

#include "booking_server.hpp"

#include <doctest/doctest.h>

namespace keel::test {

TEST_CASE(
    "an invalid requestState is refused with one error text, and the reason is only logged (MRTR-06, "
    "MRTR-14, ELI-12)") {
    booking_counts seen;
    auto now = std::make_shared<std::chrono::system_clock::time_point>(std::chrono::system_clock::now());
    auto timed = [now](asking_options& how) {
        how.clock = [now] { return *now; };
        how.expires_after = std::chrono::minutes(5);
    };
    booking_server h(seen, timed, "ada");
    h->start();
    json::value first = modern_call(*h.under_test, "1", "book");
    REQUIRE(asked_keys(first).size() == 1);
    std::string good = retry_params(first["result"], accept_all);
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
    SUBCASE("truncated, empty, or not Base64") {
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
        booking_server other(seen, timed, "eve");
        other->start();
        refused(*other.under_test, "2", "book", good);
    }
    SUBCASE("of another service") {
        booking_server other(
            seen,
            [&](asking_options& how) {
                timed(how);
                how.audience = "elsewhere";
            },
            "ada");
        other->start();
        refused(*other.under_test, "2", "book", good);
    }
    SUBCASE("sealed with a removed key") {
        booking_server other(
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
    booking_counts seen;
    std::optional<booking_server> h(std::in_place, seen);
    (*h)->start();
    json::value first = modern_call(*h->under_test, "1", "book");
    h.reset();
    // Another process, with a new key in addition to the old one.
    booking_server after(seen, [](asking_options& how) { how.keys = {key_b, key_a}; });
    after->start();
    json::value second = modern_call(*after.under_test, "1", "book", retry_params(first["result"], accept_all));
    CHECK(asked_keys(second).size() == 2);
    // A third process without the old key, in the next round.
    booking_server last(seen, [](asking_options& how) { how.keys = {key_b}; });
    last->start();
    json::value third = modern_call(*last.under_test, "1", "book", retry_params(second["result"], accept_all));
    json::value done = modern_call(*last.under_test, "2", "book", retry_params(third["result"], accept_all));
    CHECK(reply_text(done) == booked_text);
    CHECK(seen.reservations == 1);
}

TEST_CASE("a server without keys creates a random one (MRTR-06)") {
    booking_counts seen;
    auto keyless = [](asking_options& how) { how.keys.clear(); };
    booking_server one(seen, keyless);
    booking_server two(seen, keyless);
    one->start();
    two->start();
    json::value first = modern_call(*one.under_test, "1", "book");
    json::value elsewhere = modern_call(*two.under_test, "1", "book", retry_params(first["result"], accept_all));
    CHECK(elsewhere["error"]["code"].as_int() == -32602);
    CHECK(asked_keys(modern_call(*one.under_test, "2", "book", retry_params(first["result"], accept_all))).size() == 2);
}

TEST_CASE("with single_use a state is accepted only once (MRTR-07)") {
    booking_counts seen;
    booking_server h(seen, [](asking_options& how) { how.single_use = true; });
    h->start();
    json::value first = modern_call(*h.under_test, "1", "book");
    CHECK(asked_keys(modern_call(*h.under_test, "2", "book", retry_params(first["result"], accept_all))).size() == 2);
    CHECK(
        modern_call(*h.under_test, "3", "book", retry_params(first["result"], accept_all))["error"]["code"].as_int() ==
        -32602);
    CHECK(seen.reservations == 1);
}

TEST_CASE("the number of rounds and the size of the state are limited") {
    booking_counts seen;
    booking_server h(seen, [](asking_options& how) { how.max_rounds = 2; });
    h->start();
    json::value first = modern_call(*h.under_test, "1", "book");
    json::value second = modern_call(*h.under_test, "2", "book", retry_params(first["result"], accept_all));
    CHECK(second["error"]["message"].as_string() == "too many rounds of questions to the client");
    booking_server small(seen, [](asking_options& how) { how.max_state = 100; });
    small->start();
    json::value begin = modern_call(*small.under_test, "1", "book");
    json::value full = modern_call(*small.under_test, "2", "book", retry_params(begin["result"], accept_all));
    CHECK(full["error"]["message"].as_string() == "the state of the call is too large");
}

}  // namespace keel::test
