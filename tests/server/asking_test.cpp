// Requests to the client: the same handler sends requests on the older revisions and returns input_required on 2026-07-28.

#include "booking_server.hpp"

#include <doctest/doctest.h>

namespace keel::test {

TEST_CASE("the same handler asks in three rounds on 2026-07-28 (MRTR-01, MRTR-03, MRTR-04, BASE-16)") {
    booking_counts seen;
    booking_server h(seen);
    h->start();
    json::value first = modern_call(*h.under_test, "1", "book");
    REQUIRE(first["result"]["resultType"].as_string() == "input_required");
    CHECK(asked_keys(first) == std::set<std::string>{"trip"});
    CHECK_FALSE(first["result"].contains("ttlMs"));
    json::value second = modern_call(*h.under_test, "2", "book", retry_params(first["result"], accept_all));
    CHECK(asked_keys(second) == std::set<std::string>{"room", "guest"});
    json::value third = modern_call(*h.under_test, "3", "book", retry_params(second["result"], accept_all));
    CHECK(asked_keys(third) == std::set<std::string>{"sure"});
    json::value last = modern_call(*h.under_test, "4", "book", retry_params(third["result"], accept_all));
    CHECK(last["result"]["resultType"].as_string() == "complete");
    CHECK(reply_text(last) == booked_text);
    CHECK(seen.runs == 4);
    CHECK(seen.reservations == 1);
}

TEST_CASE("the same handler asks by requests of its own on 2025-06-18 and 2025-11-25 (ELI-02, LIFE-04)") {
    for (const char* version : {"2025-06-18", "2025-11-25"}) {
        CAPTURE(version);
        booking_counts seen;
        booking_server h(seen);
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
                                    accept_all.at(std::string(m["params"]["message"].as_string()))));
            }
        }
        CHECK(asked == 4);
        CHECK(h->answer("1") == booked_text);
        CHECK(seen.runs == 1);
        CHECK(seen.reservations == 1);
    }
}

TEST_CASE("declining and cancelling are answers (ELI-13)") {
    for (auto [action, text] : {std::pair("decline", "declined"), std::pair("cancel", "cancelled")}) {
        booking_counts seen;
        booking_server h(seen);
        h->start();
        form_answers no = accept_all;
        no["Where to?"] = R"({"action":")" + std::string(action) + "\"}";
        json::value first = modern_call(*h.under_test, "1", "book");
        CHECK(reply_text(modern_call(*h.under_test, "2", "book", retry_params(first["result"], no))) == text);
    }
}

TEST_CASE(
    "a missing answer is requested again, and answers without a question are ignored (MRTR-08, MRTR-15, "
    "MRTR-16)") {
    booking_counts seen;
    booking_server h(seen);
    h->start();
    json::value first = modern_call(*h.under_test, "1", "book");
    json::value again =
        modern_call(*h.under_test, "2", "book",
                    R"("inputResponses":{"sure":{"action":"accept","content":{"yes":true}}},"requestState":)" +
                        json::to_string(first["result"]["requestState"]));
    CHECK(asked_keys(again) == std::set<std::string>{"trip"});
    form_answers half = accept_all;
    half.erase("Who comes?");
    json::value second = modern_call(*h.under_test, "3", "book", retry_params(again["result"], half));
    json::value third = modern_call(*h.under_test, "4", "book", retry_params(second["result"], half));
    CHECK(asked_keys(third) == std::set<std::string>{"guest"});
    json::value fourth = modern_call(*h.under_test, "5", "book", retry_params(third["result"], accept_all));
    // "sure" was answered before it was asked, so that answer is ignored.
    CHECK(asked_keys(fourth) == std::set<std::string>{"sure"});
}

TEST_CASE("an invalid answer is refused with its key (MRTR-15, ELI-18)") {
    booking_counts seen;
    booking_server h(seen);
    h->start();
    json::value first = modern_call(*h.under_test, "1", "book");
    auto with = [&](std::string_view id, const std::string& trip_answer) {
        form_answers bad = accept_all;
        bad["Where to?"] = trip_answer;
        return modern_call(*h.under_test, id, "book", retry_params(first["result"], bad));
    };
    json::value wrong = with("2", R"({"action":"accept","content":{"city":"Oslo","days":99}})");
    CHECK(wrong["error"]["code"].as_int() == -32602);
    CHECK(wrong["error"]["message"].as_string().find("trip.content.days") != std::string_view::npos);
    CHECK(with("3", R"({"action":"maybe"})")["error"]["code"].as_int() == -32602);
    CHECK(with("4", "7")["error"]["code"].as_int() == -32602);
    CHECK(modern_call(*h.under_test, "5", "book", R"("inputResponses":[])")["error"]["code"].as_int() == -32602);
    CHECK(modern_call(*h.under_test, "6", "book", R"("requestState":5)")["error"]["code"].as_int() == -32602);
}

}  // namespace keel::test
