// Responses: a call ends once, immediately, and with the correct outcome.

#include "link_under_test.hpp"
#include "support/heap.hpp"

using namespace keel;
using namespace keel::test;
using http_client::transfer_failure;

TEST_CASE("HTTP-08: a response is JSON or an event stream") {
    for (const char* version : versions) {
        link_under_test t(speaking(version));
        t.open();
        auto plain = t.ask("a");
        t.on->reply(t.on->last(), 200, "application/json; charset=utf-8",
                    fake_wire::result_text(t.on->last(), R"({"n":1})"));
        CHECK(plain->outcome == R"({"n":1})");
        auto streamed = t.ask("b");
        t.on->open_stream(t.on->last());
        t.on->event(t.on->last(), fake_wire::result_text(t.on->last(), R"({"n":2})"), "event: message\n");
        CHECK(streamed->outcome == R"({"n":2})");
        t.on->end(t.on->last());
        CHECK(t.link->open_exchanges() == 0);
    }
}

TEST_CASE("HTTP-08: a response does not depend on how its bytes are split") {
    for (const char* version : versions) {
        for (const char* type : {"application/json", "text/event-stream"}) {
            link_under_test t(speaking(version));
            t.open();
            auto call = t.ask("a");
            std::string text = fake_wire::result_text(t.on->last(), R"({"word":"naïve"})");
            if (std::string_view(type) == "text/event-stream") text = "data: " + text + "\r\n\r\n";
            t.on->head(t.on->last(), 200, {{"content-type", type}});
            for (char c : text) t.on->body(t.on->last(), std::string_view(&c, 1));
            t.on->end(t.on->last());
            CHECK(call->outcome == R"({"word":"naïve"})");
        }
    }
}

TEST_CASE("HTTP-10: comments, empty events and other event types are ignored; invalid data is reported and skipped") {
    for (const char* version : versions) {
        link_under_test t(speaking(version));
        t.open();
        auto call = t.ask("a");
        seen_request& r = t.on->last();
        t.on->open_stream(r);
        t.on->body(r, ": hello\n\n:\n\nid: 5\ndata:\n\nevent: ping\ndata: 12:00\n\n");
        CHECK(t.reports.empty());
        t.on->event(r, "{oops");
        CHECK(t.reports.size() == 1);
        t.on->event(r, R"({"jsonrpc":"2.0"})");
        CHECK(t.reports.size() == 2);
        CHECK(call->ends == 0);
        t.on->event(r, fake_wire::result_text(r));
        CHECK(call->outcome == "{}");
    }
}

TEST_CASE("D13: messages before the response in one chunk are delivered before the call ends") {
    link_under_test t;
    auto call = t.ask("a");
    t.when_heard = [&](std::string_view) { CHECK(call->ends == 0); };
    seen_request& r = t.on->last();
    t.on->open_stream(r);
    std::string note = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n";
    t.on->body(r, note + note + "data: " + fake_wire::result_text(r) + "\n\n");
    CHECK(t.heard.size() == 2);
    CHECK(call->outcome == "{}");
}

TEST_CASE("D10: an invalid response ends its call, and only that call") {
    struct sample {
        const char* what;
        int status;
        const char* type;
        const char* body;
    };
    for (sample each : {
             sample{"accepted", 202, "", ""},
             sample{"no content", 204, "", ""},
             sample{"empty", 200, "application/json", ""},
             sample{"no type", 200, "", R"({"jsonrpc":"2.0","id":1,"result":{}})"},
             sample{"a page", 200, "text/html", "<p>Sign in"},
             sample{"another charset", 200, "application/json; charset=utf-16", "x"},
             sample{"broken", 200, "application/json", R"({"jsonrpc":"2.0","id":1,)"},
             sample{"no object", 200, "application/json", "3"},
             sample{"a batch", 200, "application/json", R"([{"jsonrpc":"2.0","id":1,"result":{}}])"},
             sample{"another id", 200, "application/json", R"({"jsonrpc":"2.0","id":2,"result":{}})"},
             sample{"a request", 200, "application/json", R"({"jsonrpc":"2.0","id":1,"method":"x"})"},
             sample{"both", 200, "application/json", R"({"jsonrpc":"2.0","id":1,"result":{},"error":{}})"},
             sample{"neither", 200, "application/json", R"({"jsonrpc":"2.0","id":1})"},
             sample{"no object as result", 200, "application/json", R"({"jsonrpc":"2.0","id":1,"result":5})"},
             sample{"bad error", 200, "application/json", R"({"jsonrpc":"2.0","id":1,"error":{"code":"x"}})"},
             sample{"another id in the stream", 200, "text/event-stream",
                    "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n"},
         }) {
        CAPTURE(std::string(each.what));
        link_under_test t;
        auto call = t.ask("a");   // 1
        auto other = t.ask("b");  // 2
        t.on->reply(t.on->at(0), each.status, each.type, each.body);
        CHECK(call->outcome == "bad message");
        CHECK(other->ends == 0);
        t.on->answer(t.on->at(1), R"({"mine":true})");
        CHECK(other->outcome == R"({"mine":true})");
    }
}

TEST_CASE("D10: an unexpected content type ends the call with the head, whatever the body is") {
    link_under_test t;
    auto call = t.ask("a");
    t.on->head(t.on->last(), 200, {{"content-type", "text/html"}});
    CHECK(call->outcome == "bad message");
    CHECK(t.on->last().cancelled);
}

TEST_CASE("D9, D11: unknown responses and errors without an id are ignored") {
    link_under_test t;
    auto call = t.ask("a");
    seen_request& r = t.on->last();
    t.on->open_stream(r);
    t.on->event(r, R"({"jsonrpc":"2.0","id":99,"result":{}})");
    t.on->event(r, R"({"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"x"}})");
    CHECK(call->ends == 0);
    CHECK(t.reports.size() == 1);
    t.on->event(r, fake_wire::result_text(r));
    CHECK(call->outcome == "{}");
}

TEST_CASE("D11: an error without an id in place of the response is the response") {
    link_under_test t;
    auto call = t.ask("a");
    t.on->reply(t.on->last(), 200, "application/json",
                R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}})");
    CHECK(call->outcome == "rejected -32700: parse error");
}

TEST_CASE("A5: an id that is returned as text is accepted") {
    link_under_test t;
    auto call = t.ask("a");
    t.on->reply(t.on->last(), 200, "application/json", R"({"jsonrpc":"2.0","id":"1","result":{"n":1}})");
    CHECK(call->outcome == R"({"n":1})");
}

TEST_CASE(
    "for an error status, the JSON-RPC error in the body counts, else the status and the beginning of the "
    "body") {
    struct sample {
        int status;
        const char* body;
        const char* outcome;
        const char* text;
    };
    for (
        sample each : {
            sample{404, R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}})",
                   "rejected -32601: no such method", ""},
            sample{400, R"({"jsonrpc":"2.0","error":{"code":-32020,"message":"mismatch"}})",
                   "rejected -32020: mismatch", ""},
            sample{400, R"({"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"no","data":{"supported":[]}}})",
                   "rejected -32022: no", ""},
            sample{
                400, R"({"jsonrpc":"2.0","id":7,"error":{"code":-5,"message":"of another"}})",
                R"(rejected 0: HTTP 400 Bad Request: {"jsonrpc":"2.0","id":7,"error":{"code":-5,"message":"of another"}})",
                ""},
            sample{404, "no such page\n\x01", "rejected 0: HTTP 404 Not Found: no such page\\x0a\\x01", ""},
            sample{405, "", "rejected 0: HTTP 405 Method Not Allowed", ""},
            sample{302, "", "rejected 0: HTTP 302 Found", ""},
            sample{503, R"({"error":"busy"})", R"(rejected 0: HTTP 503 Service Unavailable: {"error":"busy"})", ""},
            sample{401, "who?", "unauthorized", "HTTP 401 Unauthorized: who?"},
            sample{403, R"({"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"not you"}})", "unauthorized",
                   "not you"},
        }) {
        link_under_test t;
        auto call = t.ask("a");
        t.on->reply(t.on->last(), each.status, "application/json", each.body);
        CHECK(call->outcome == each.outcome);
        CHECK(call->http_status == each.status);
        if (*each.text) CHECK(call->text == each.text);
    }
}

TEST_CASE("an error response whose body is incomplete or endless is still an error response") {
    {
        link_under_test t;
        auto call = t.ask("a");
        t.on->head(t.on->last(), 500);
        t.on->body(t.on->last(), "oh");
        t.on->fail(t.on->last());
        CHECK(call->outcome == "rejected 0: HTTP 500 Internal Server Error: oh");
    }
    link_under_test t;
    auto call = t.ask("a");
    t.on->head(t.on->last(), 500);
    for (int i = 0; i < 16; ++i) t.on->body(t.on->last(), std::string(64 * 1024, 'x'));
    CHECK(call->http_status == 500);
    CHECK(call->text.size() < 300);
    CHECK(t.on->last().cancelled);
}

TEST_CASE("D2, I7, HTTP-12: a stream that ends before the response fails at once, and nothing is sent twice") {
    struct sample {
        const char* what;
        void (*happens)(fake_wire&, seen_request&);
        const char* outcome;
    };
    for (bool modern : {true, false}) {
        for (sample each : {
                 sample{"no connection",
                        [](fake_wire& w, seen_request& r) { w.fail(r, transfer_failure::not_sent, "refused"); },
                        "unavailable"},
                 sample{"before the head", [](fake_wire& w, seen_request& r) { w.fail(r); }, "stream lost"},
                 sample{"no HTTP", [](fake_wire& w, seen_request& r) { w.fail(r, transfer_failure::malformed, "?"); },
                        "bad message"},
                 sample{"in the body",
                        [](fake_wire& w, seen_request& r) {
                            w.head(r, 200, {{"content-type", "application/json"}});
                            w.body(r, R"({"json)");
                            w.fail(r);
                        },
                        "stream lost"},
                 sample{"the stream ends",
                        [](fake_wire& w, seen_request& r) {
                            w.open_stream(r);
                            w.event(r, R"({"jsonrpc":"2.0","method":"notifications/message","params":{}})");
                            w.end(r);
                        },
                        "stream lost"},
                 sample{"the stream ends empty",
                        [](fake_wire& w, seen_request& r) {
                            w.open_stream(r);
                            w.end(r);
                        },
                        "stream lost"},
                 sample{"in an event",
                        [](fake_wire& w, seen_request& r) {
                            w.open_stream(r);
                            w.body(r, "data: " + fake_wire::result_text(r));  // without the empty line
                            w.fail(r);
                        },
                        "stream lost"},
                 sample{"in a chunk",
                        [](fake_wire& w, seen_request& r) {
                            w.open_stream(r);
                            w.fail(r, transfer_failure::malformed, "bad chunk");
                        },
                        "bad message"},
             }) {
            CAPTURE(std::string(each.what));
            link_settings_for_test how;
            how.modern = modern;
            link_under_test t(how);
            auto call = t.ask("a");
            auto other = t.ask("b");
            each.happens(*t.on, t.on->at(0));
            CHECK(call->outcome == each.outcome);
            CHECK(other->ends == 0);
            t.on->answer(t.on->at(1));
            CHECK(other->outcome == "{}");
            t.loop->advance(1min);
            CHECK(t.on->requests.size() == 2);
            // A retry by the caller is a new request with a new id.
            auto again = t.ask("a");
            CHECK(t.on->last().id() != t.on->at(0).id());
            t.on->answer(t.on->last());
            CHECK(again->outcome == "{}");
        }
    }
}

TEST_CASE("I7, HTTP-12: a modern stream is lost when it ends, also with event ids") {
    link_under_test t;
    auto call = t.ask("a");
    t.on->open_stream(t.on->last());
    t.on->event(t.on->last(), "", "id: 1\nretry: 10\n");
    t.on->end(t.on->last());
    CHECK(call->outcome == "stream lost");
    t.loop->advance(1min);
    CHECK(t.on->requests.size() == 1);
}

TEST_CASE("E3: a response or event above the size limit fails its call only") {
    for (const char* type : {"application/json", "text/event-stream"}) {
        link_settings_for_test how;
        how.options.max_body = 1000;
        link_under_test t(how);
        auto call = t.ask("a");
        auto other = t.ask("b");
        t.on->head(t.on->at(0), 200, {{"content-type", type}});
        t.on->body(t.on->at(0), "data: ");
        for (int i = 0; i < 20; ++i) t.on->body(t.on->at(0), std::string(100, 'x'));
        CHECK(call->outcome == "bad message");
        CHECK(t.on->at(0).cancelled);
        t.on->answer(t.on->at(1));
        CHECK(other->outcome == "{}");
    }
}

TEST_CASE("E3: on the stream of a call, a message that is too large and not its response is skipped") {
    for (const char* version : versions) {
        link_settings_for_test how = speaking(version);
        how.options.max_body = 1000;
        link_under_test t(how);
        t.open();
        auto call = t.ask("a");
        seen_request& post = t.on->last();
        t.on->open_stream(post);
        t.on->event(post,
                    R"({"jsonrpc":"2.0","method":"notifications/message","params":")" + std::string(2000, 'x') + "\"}");
        CHECK(call->ends == 0);
        CHECK(t.reports.size() == 1);
        t.on->event(post, fake_wire::result_text(post));
        CHECK(call->outcome == "{}");
    }
}

TEST_CASE("E3: a response that is too large fails its call, on any stream") {
    link_settings_for_test how = legacy();
    how.options.max_body = 1000;
    link_under_test t(how);
    t.shake_hands();
    auto one = t.ask("one");
    seen_request& first = t.on->last();
    auto two = t.ask("two");
    seen_request& second = t.on->last();
    t.on->open_stream(first);
    t.on->open_stream(second);
    t.on->event(second, R"({"jsonrpc":"2.0","id":)" + first.id() + R"(,"result":")" + std::string(2000, 'x') + "\"}");
    CHECK(one->outcome == "bad message");
    CHECK(two->ends == 0);
    t.on->event(second, fake_wire::result_text(second));
    CHECK(two->outcome == "{}");
    t.loop->advance(2s);
    CHECK(first.cancelled);
}

TEST_CASE("E5: batches are accepted only in 2025-03-26, and only up to the limit") {
    for (const char* version : legacy_versions) {
        for (bool stream : {false, true}) {
            link_under_test t(legacy(version));
            t.shake_hands();
            t.peer->core().allow_batches(std::string_view(version) == "2025-03-26");
            auto batch_of = [](std::size_t n, const std::string& last) {
                std::string text = "[";
                for (std::size_t i = 1; i < n; ++i) text += R"({"jsonrpc":"2.0","method":"notifications/message"},)";
                return text + last + "]";
            };
            const std::size_t most = limits().max_batch;
            for (std::size_t size : {std::size_t(2), most, most + 1}) {
                t.heard.clear();
                auto call = t.ask("a");
                seen_request& post = t.on->last();
                const std::string text = batch_of(size, fake_wire::result_text(post));
                if (stream) {
                    t.on->open_stream(post);
                    t.on->event(post, text);
                    t.on->end(post);
                } else {
                    t.on->reply(post, 200, "application/json", text);
                }
                const bool taken = std::string_view(version) == "2025-03-26" && size <= most;
                CHECK(t.heard.size() == (taken ? size - 1 : 0));
                CHECK(call->outcome == (taken ? "{}" : stream ? "stream lost" : "bad message"));
            }
        }
    }
}

TEST_CASE("D4: an error response whose body stays open is reported after a second") {
    for (const char* version : versions) {
        for (const char* type : {"text/plain", "text/event-stream"}) {
            link_under_test t(speaking(version));
            t.open();
            auto call = t.ask("a");
            t.on->head(t.on->last(), 403, {{"content-type", type}});
            t.on->body(t.on->last(), "no");
            t.loop->advance(500ms);
            CHECK(call->ends == 0);
            t.loop->advance(2s);
            CHECK(call->http_status == 403);
            CHECK(t.on->last().cancelled);
        }
    }
}

TEST_CASE("HTTP-17: a stream that stays open after its response is closed after a second") {
    link_under_test t;
    auto call = t.ask("a");
    t.on->open_stream(t.on->last());
    t.on->event(t.on->last(), fake_wire::result_text(t.on->last()));
    CHECK(call->outcome == "{}");
    CHECK(t.on->last().open());
    t.loop->advance(2s);
    CHECK(t.on->last().cancelled);
    CHECK(t.link->open_exchanges() == 0);
}

TEST_CASE("HTTP-07: the response to a notification matters only if it is an error") {
    link_under_test t;
    auto notify = [&]() -> seen_request& {
        t.peer->notify("notifications/x", "{}");
        return t.on->last();
    };
    t.on->accept(notify());
    t.on->reply(notify(), 204, "", "");
    t.on->reply(notify(), 200, "application/json", R"({"jsonrpc":"2.0","result":{}})");
    CHECK(t.reports.empty());
    t.on->reply(notify(), 400, "text/plain", "no");
    REQUIRE(t.reports.size() == 1);
    CHECK(t.reports[0] == "the server rejected notifications/x: HTTP 400 Bad Request: no");
    t.on->fail(notify(), transfer_failure::not_sent, "refused");
    CHECK(t.reports.size() == 2);
    // A stream would never end.
    seen_request& streamed = notify();
    t.on->open_stream(streamed);
    CHECK(streamed.cancelled);
    // A request that is never answered does not stay open.
    seen_request& silent = notify();
    t.loop->advance(2min);
    CHECK(silent.cancelled);
    CHECK(t.link->open_exchanges() == 0);
    CHECK(t.heard.empty());
}

TEST_CASE("D10, D2: a message with only an id ends a call with that number; as text it is ignored") {
    for (const char* version : versions) {
        for (bool as_text : {false, true}) {
            link_under_test t(speaking(version));
            t.open();
            auto call = t.ask("a");
            seen_request& post = t.on->last();
            t.on->open_stream(post);
            const std::string id = as_text ? '"' + post.id() + '"' : post.id();
            t.on->event(post, R"({"jsonrpc":"2.0","id":)" + id + "}");
            CHECK(call->outcome == (as_text ? "" : "bad message"));
            t.on->end(post);
            // It was not answered, so it ends with its stream.
            CHECK(call->outcome == (as_text ? "stream lost" : "bad message"));
        }
    }
}

TEST_CASE("J3: memory of large requests and responses is freed when they end") {
    for (const char* version : {legacy_version, modern_version}) {
        for (bool streamed : {false, true}) {
            link_under_test t(speaking(version));
            t.open();
            constexpr std::size_t calls = 50;
            constexpr std::size_t large = 500'000;
            const std::string text = R"({"x":")" + std::string(large, 'x') + R"("})";
            const std::size_t before = heap_in_use();
            std::vector<std::shared_ptr<asked>> all;
            for (std::size_t i = 0; i < calls; ++i) all.push_back(t.ask("a", text));
            for (seen_request* each : t.on->all("POST a")) {
                const std::string answer = fake_wire::result_text(*each, text);
                std::string().swap(each->what.body);
                if (streamed) t.on->open_stream(*each);
                else t.on->head(*each, 200, {{"content-type", "application/json"}});
                // In pieces, so that they have to be joined.
                const std::string sent = streamed ? "data: " + answer + "\n\n" : answer;
                t.on->body(*each, std::string_view(sent).substr(0, large / 2));
                t.on->body(*each, std::string_view(sent).substr(large / 2));
                t.on->end(*each);
            }
            for (const auto& each : all) {
                CHECK(each->outcome.size() == text.size());
                std::string().swap(each->outcome);
            }
            CHECK(t.link->open_exchanges() == 0);
            all.clear();
            CHECK(heap_in_use() < before + calls * large / 10);
        }
    }
}
