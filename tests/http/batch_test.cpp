// Batches (2025-03-26) over HTTP: one POST, several requests, all of them answered, in whatever form.

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
    SUBCASE("by what another member says") {
        c.send(s.post(
            batch_of({call_line("1", "echo", R"({"at":"x"})"), call_line("2", "talk", R"({"at":"a"})", "\"t\"")})));
    }
    SUBCASE("by silence") {
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
