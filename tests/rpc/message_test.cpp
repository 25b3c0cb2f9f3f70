// The encoding of messages.

#include "harness.hpp"

using namespace keel;
using namespace keel::rpc;
using namespace keel::rpc::test;

namespace {

std::string kind_of(std::string_view text) {
    json::document d;
    const json::value* v = d.read(text);
    REQUIRE(v);
    message m = classify(*v);
    std::string id = m.id.present() ? " " + show(m.id) : "";
    std::string problem = *m.problem ? std::string(": ") + m.problem : "";
    switch (m.kind) {
        case message_kind::request: return "request" + id + " " + std::string(m.method) + problem;
        case message_kind::notification: return "notification " + std::string(m.method) + problem;
        case message_kind::response: return "response" + id + problem;
        case message_kind::invalid: return "invalid" + id + problem;
    }
    return "";
}

std::string id_in(std::string_view beginning) {
    request_id id = read_truncated(beginning).id;
    return id.present() ? show(id) : "none";
}

}  // namespace

TEST_CASE("classify distinguishes the kinds of messages") {
    CHECK(kind_of(R"({"jsonrpc":"2.0","id":1,"method":"a","params":{}})") == "request 1 a");
    CHECK(kind_of(R"({"method":"a","id":"","jsonrpc":"2.0"})") == "request \"\" a");
    CHECK(kind_of(R"({"jsonrpc":"2.0","id":0,"method":"a","params":[]})") == "request 0 a: params is not an object");
    CHECK(kind_of(R"({"jsonrpc":"2.0","id":0,"method":"a","params":null})") == "request 0 a");  // Go's client
    CHECK(kind_of(R"({"jsonrpc":"2.0","method":"a","params":null})") == "notification a");
    CHECK(kind_of(R"({"jsonrpc":"2.0","method":"a"})") == "notification a");
    CHECK(kind_of(R"({"jsonrpc":"2.0","id":1,"result":{}})") == "response 1");
    CHECK(kind_of(R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}})") == "response 1");
    CHECK(kind_of(R"({"jsonrpc":"2.0","error":{"code":1,"message":""}})") == "response");
    CHECK(kind_of(R"({"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}})") == "response");
    CHECK(kind_of(R"({"jsonrpc":"2.0","id":1,"result":{},"error":{}})") == "response 1: both result and error");
    CHECK(kind_of(R"({"jsonrpc":"2.0","id":1,"result":[]})") == "response 1: result is not an object");
    CHECK(kind_of(R"({"jsonrpc":"2.0","id":1,"error":[]})") == "response 1: malformed error");
    CHECK(kind_of(R"({"id":1,"result":{}})") == "response 1: jsonrpc is not \"2.0\"");
    CHECK(kind_of(R"({"jsonrpc":"2.0","id":null,"method":"a"})") == "invalid: id is neither a string nor an integer");
    CHECK(kind_of(R"({"jsonrpc":"2.0","id":1,"method":5})") == "invalid 1: method is not a name");
    CHECK(kind_of(R"({"jsonrpc":"2.0","id":1,"method":""})") == "invalid 1: method is not a name");
    CHECK(kind_of(R"({"jsonrpc":"2.0","id":1,"method":"a","result":{}})") == "invalid 1: both method and result");
    CHECK(kind_of(R"({"jsonrpc":"2.0","id":1})") == "invalid 1: no method");
    CHECK(kind_of(R"({"id":1,"method":"a"})") == "invalid 1: jsonrpc is not \"2.0\"");
    CHECK(kind_of("[]") == "invalid: not an object");
    CHECK(kind_of("null") == "invalid: not an object");
}

TEST_CASE("classify takes the last of two members with the same name") {
    CHECK(kind_of(R"({"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b"})") == "request 2 b");
}

TEST_CASE("A3, A4: ids are compared with their type and written unchanged") {
    auto id = [](std::string_view text) { return request_id::from(json::parse(text)); };
    CHECK(id("1") == request_id(1));
    CHECK(id("\"1\"") == request_id("1"));
    CHECK(id("1") != id("\"1\""));
    CHECK(id("18446744073709551615") != id("-1"));
    CHECK(!id("null").present());
    CHECK(!id("true").present());
    CHECK(!id("1.0").present());
    CHECK(!id("18446744073709551616").present());
    CHECK(id("0").present());
    CHECK(id("\"\"").present());
    for (std::string text : {"0", "-1", "9223372036854775807", "9223372036854775808", "18446744073709551615", "\"\"",
                             "\"\\u0001\"", "\"é\""}) {
        CHECK(show(id(text)) == text);
    }
}

TEST_CASE("messages are written without white space and without raw newlines") {
    std::string out;
    write_request(out, 7, "a\"b", R"({"x":1})");
    CHECK(out == R"({"jsonrpc":"2.0","id":7,"method":"a\"b","params":{"x":1}})");
    out.clear();
    write_notification(out, "n", "");
    CHECK(out == R"({"jsonrpc":"2.0","method":"n"})");
    out.clear();
    write_error(out, request_id("x"), {-1, "a\nb", json::array({1})});
    CHECK(out == R"({"jsonrpc":"2.0","id":"x","error":{"code":-1,"message":"a\nb","data":[1]}})");
    out.clear();
    write_result(out, request_id(0), "{}");
    CHECK(out == R"({"jsonrpc":"2.0","id":0,"result":{}})");
    out.clear();
    const std::string_view pieces[] = {"[", {}, "]"};  // an empty piece has no address
    write_result(out, request_id(0), pieces);
    CHECK(out == R"({"jsonrpc":"2.0","id":0,"result":[]})");
}

TEST_CASE("E3: the id of a truncated text is found only at the top level") {
    CHECK(id_in(R"({"jsonrpc":"2.0","id":5,"method":"a","params":{"x":"yyy)") == "5");
    CHECK(id_in(R"({"id":"a\"},{b","params":{)") == R"("a\"},{b")");
    CHECK(id_in(R"(  { "id" : 7 , "x")") == "7");
    CHECK(id_in(R"({"params":{"id":5},"id":6,)") == "6");
    CHECK(id_in(R"({"params":{"a":[1,{"id":5}],"b":"\"id\":9,"},"id":6})") == "6");
    CHECK(id_in(R"({"params":{"id":5},"x":")") == "none");
    CHECK(id_in(R"({"x":"id","y":5,)") == "none");
    CHECK(id_in(R"(["id",5,{"id":7},)") == "none");
    CHECK(id_in(R"(["a","id",{"x":7},)") == "none");
    CHECK(id_in(R"([{"id":7},)") == "none");
    CHECK(id_in(R"({"id":5)") == "none");  // more digits may follow: 51
    CHECK(id_in(R"({"id":"ab)") == "none");
    CHECK(id_in(R"({"id":)") == "none");
    CHECK(id_in(R"({"id")") == "none");
    CHECK(id_in(R"({"id" 5,)") == "none");
    CHECK(id_in(R"({"id":{"a":1},"x":)") == "none");
    CHECK(id_in(R"({"id":[1,2],"x":)") == "none");
    CHECK(id_in(R"({"id":null,"x":)") == "none");
    CHECK(id_in(R"({"id":1.5,"x":)") == "none");
    CHECK(id_in(R"({"id":1,"id":2,"x":)") == "2");
    CHECK(id_in("") == "none");
    CHECK(id_in("xyz") == "none");
    CHECK(id_in(R"("id":5,)") == "none");
    CHECK(id_in(R"({"x":"\)") == "none");
    CHECK(id_in(R"({}{"id":5,)") == "none");
}

TEST_CASE("E3: a truncated message is recognized as a request or a response, also when the id comes first") {
    CHECK(read_truncated(R"({"id":1,"method":"a","params":{"result":)").method);
    CHECK(!read_truncated(R"({"id":1,"method":"a","params":{"result":)").result);
    CHECK(read_truncated(R"({"id":1,"result":{"method":)").result);
    CHECK(!read_truncated(R"({"id":1,"result":{"method":)").method);
    CHECK(read_truncated(R"({"error":{"code":)").result);
    CHECK(!read_truncated(R"({"x":"method","y":"result",)").method);
    CHECK(!read_truncated(R"({"metho)").method);
}

TEST_CASE("E3: a message truncated at any byte is read safely") {
    const std::string text =
        R"({"jsonrpc":"2.0","id":"a\\\"b","method":"x","params":{"a":[{"id":2},"\u0041"],"b":null}})";
    for (std::size_t n = 0; n <= text.size(); ++n) {
        std::string found = id_in(std::string_view(text).substr(0, n));
        CHECK((found == "none" || found == R"("a\\\"b")"));
    }
}

TEST_CASE("J6: printable truncates and escapes") {
    CHECK(printable("") == "");
    CHECK(printable("plain text") == "plain text");
    CHECK(printable("a\nb\tc\x1b[0m\x7f") == R"(a\x0ab\x09c\x1b[0m\x7f)");
    CHECK(printable("zażółć") == "zażółć");
    CHECK(printable("\xc2\x9b"
                    "31m\xc2\xa0") == "\\x9b31m\xc2\xa0");  // the one-character form of ESC [
    CHECK(printable("a\xff"
                    "b\xc3") == R"(a\xffb\xc3)");
    CHECK(printable("abcdef", 3) == "abc…");
    CHECK(printable("abc", 3) == "abc");
    CHECK(printable("aéé", 4) == "aé…");  // never splits a character
    CHECK(printable("aéé", 2) == "a…");
    CHECK(printable("🐢🐢", 5) == "🐢…");
    CHECK(printable(std::string(1000, '\0'), 10).size() == 4 * 10 + 3);
    for (std::size_t limit = 0; limit < 12; ++limit) CHECK(json::is_utf8(printable("é🐢\xc2\x85z🐢", limit)));
}

TEST_CASE("E3: a truncated text that is not an object has no id") {
    CHECK(id_in(R"([{"id":1,)") == "none");
    CHECK(id_in(R"("id":1,"id":2,)") == "none");
    CHECK(id_in(R"(x"id":1,)") == "none");
    CHECK(id_in("") == "none");
    CHECK(id_in("  \t\r\n") == "none");
}

TEST_CASE("a large result is written the same way with and without its buffer") {
    const std::string content(100'000, 'x');
    for (std::size_t before : {0u, 10u, 4096u, 5000u}) {
        for (std::size_t spare : {0u, 1000u}) {
            CAPTURE(before);
            CAPTURE(spare);
            std::string body;
            body.reserve(content.size() + spare);
            body = content;
            const char* const memory = body.data();
            const std::string_view pieces[] = {R"({"content":)", body, "}"};
            std::string copied(before, '-');
            write_result(copied, request_id("a"), pieces);
            std::string out(before, '-');
            write_large_result(out, request_id("a"), pieces, body);
            CHECK((out == copied));
            CHECK((out.data() == memory) == (spare > 100 && before <= 500));
        }
    }
}
