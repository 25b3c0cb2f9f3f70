// Batches (2025-03-26) over HTTP: one POST with several requests, all of them answered, as JSON or as a stream.

#include "http/web.hpp"

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;

namespace {

std::string batch_of(std::initializer_list<std::string> messages) {
    std::string all = "[";
    for (const std::string& each : messages) all += (all.size() > 1 ? "," : "") + each;
    return all + "]";
}

}  // namespace

TEST_CASE("A1, E5: a batch without other messages is answered with one JSON array") {
    web w;
    http_session s = w.open_session("2025-03-26");
    web_client& c = w.connect(s);
    c.send(s.post(batch_of({call_line("1", "echo", R"({"at":"x"})"), call_line("2", "hold", R"({"at":"a"})")})));
    CHECK(c.status() == 0);
    w.open("a");
    CHECK(c.status() == 200);
    CHECK(!c.last().stream);
}

TEST_CASE("A1: answers of a batch that precede the switch to a stream are sent on the stream") {
    web w;
    http_session s = w.open_session("2025-03-26");
    web_client& c = w.connect(s);
    SUBCASE("opened by a message of another request") {
        c.send(s.post(
            batch_of({call_line("1", "echo", R"({"at":"x"})"), call_line("2", "talk", R"({"at":"a"})", "\"t\"")})));
    }
    SUBCASE("opened by a keep-alive") {
        c.send(s.post(batch_of({call_line("1", "echo", R"({"at":"x"})"), call_line("2", "hold", R"({"at":"a"})")})));
        w.advance(16s);
    }
    w.open("a");
    CHECK(c.last().stream);
    CHECK(c.last().complete);
    std::size_t answers = 0;
    for (const std::string& each : c.said_all()) answers += each.starts_with("progress") ? 0 : 1;
    CHECK(answers == 2);
}

TEST_CASE("A7: a batch with a duplicate id is refused as a whole") {
    web w;
    http_session s = w.open_session("2025-03-26");
    web_client& c = w.connect(s);
    c.send(s.post(batch_of({call_line("1", "hold", R"({"at":"a"})"), call_line("1", "hold", R"({"at":"a"})")})));
    CHECK(c.status() == 400);
    CHECK(w.handlers.here() == 0);
}

TEST_CASE("F8: a batch with more requests than may run at once is refused with the limit") {
    web_settings how;
    how.bounds.max_in_flight = 2;
    web w(how);
    http_session s = w.open_session("2025-03-26");
    web_client& c = w.connect(s);
    c.send(s.post(batch_of({call_line("1", "echo"), call_line("2", "echo"), call_line("3", "echo")})));
    CHECK(c.status() == 400);
    CHECK(c.last().header("retry-after").empty());
    CHECK(c.said() == "error -32600 a batch may contain at most 2 requests");
    c.send(s.post(batch_of({call_line("1", "echo"), call_line("2", "echo")})));
    CHECK(c.status() == 200);
}
