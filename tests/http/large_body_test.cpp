// Large bodies that arrive in pieces: decoded where they are, released before the response is written, and answered correctly.

#include "http/web.hpp"

using namespace keel;
using namespace keel::test;

namespace {

/// With escapes.
std::string long_text() {
    std::string text;
    while (text.size() < 200'000) text += "forty characters, more or less, and a\n\"quote\"";
    return text;
}

std::string arguments_with(const std::string& text) { return json::to_string(json::object({{"at", text}})); }

void send_in_pieces(web& w, web_client& c, const std::string& request) {
    c.expect(request);
    for (std::size_t at = 0; at < request.size(); at += 50'000) {
        c.feed(request.substr(at, 50'000));
        w.run();
    }
}

std::string text_of(const seen_answer& a) {
    REQUIRE(a.status == 200);
    REQUIRE(a.messages().size() == 1);
    return std::string(json::parse(a.messages()[0])["result"]["content"].at(0)["text"].as_string());
}

}  // namespace

TEST_CASE("a large body in pieces is echoed, in every form of response and both eras") {
    using answer_form = http_options::answer_form;
    const std::string text = long_text();
    for (answer_form form : {answer_form::json, answer_form::as_needed, answer_form::events}) {
        CAPTURE(static_cast<int>(form));
        web_settings how;
        how.http.answers = form;
        web w(how);
        http_session s = w.open_session();
        web_client& legacy = w.connect(s);
        web_client& modern = w.connect();
        for (const char* id : {"1", "2"}) {
            send_in_pieces(w, legacy, s.call(id, "echo", arguments_with(text)));
            CHECK((text_of(legacy.last()) == text));
            send_in_pieces(w, modern, modern_call(id, "echo", arguments_with(text)));
            CHECK((text_of(modern.last()) == text));
        }
        w.finish();
    }
}

TEST_CASE("a large batch in pieces is answered completely") {
    web w;
    http_session s = w.open_session("2025-03-26");
    web_client& c = w.connect(s);
    const std::string text = long_text();
    send_in_pieces(w, c,
                   s.post("[" + call_line("1", "echo", arguments_with(text)) + "," +
                          call_line("2", "echo", arguments_with(text)) + "]"));
    REQUIRE(c.status() == 200);
    std::size_t found = 0;
    for (const std::string& message : c.last().messages()) {
        json::value answers = json::parse(message);
        if (!answers.is_array()) answers = json::array({answers});
        for (const json::value& each : answers.items()) {
            ++found;
            CHECK((each["result"]["content"].at(0)["text"] == json::value(text)));
        }
    }
    CHECK(found == 2);
    w.finish();
}
