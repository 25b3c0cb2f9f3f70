#include <keel/call.hpp>
#include <keel/client.hpp>

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

using namespace keel;

namespace {

std::string shown(const tool_result& r, bool wants_text) { return json::to_string(detail::value_of(r, wants_text)); }

tool_result structured(json::value v, std::string text) {
    tool_result r(std::move(text));
    r.structured = std::move(v);
    return r;
}

struct sum {
    int total = 0;
};
KEEL_DESCRIBE(sum, total)

task<tool_result> given(tool_result r) { co_return r; }

/// The result of a typed call for this tool result.
template <class T>
std::string typed(tool_result r) {
    struct nowhere final : loop {
        time_point now() const noexcept override { return {}; }
        bool post(std::function<void()>) override { return false; }
        bool here() const noexcept override { return true; }
        timer start_timer(time_point, std::function<void()>) override { return 0; }
        void stop_timer(timer) noexcept override {}
    } l;
    detail::activity line(l);
    std::string out = "did not end";
    detail::start(line, detail::typed_result<T>(given(std::move(r))), [&](detail::outcome<T> o) {
        if (o.index() == 1) {
            out = json::to_string(encode(std::get<1>(o)));
            return;
        }
        try {
            std::rethrow_exception(std::get<0>(o));
        } catch (const tool_failed& e) {
            out = std::string("failed: ") + e.what();
        } catch (const error& e) {
            out = std::string(name_of(e.kind())) + ": " + e.what();
        }
    });
    return out;
}

}  // namespace

TEST_CASE("the value of a result is its structured content, else its text, parsed as JSON unless text is wanted") {
    CHECK(shown(structured(json::object({{"a", 1}}), "{}"), false) == R"({"a":1})");
    CHECK(shown(structured("said", "{}"), true) == R"("said")");
    CHECK(shown(tool_result(R"({"a":[1,2]})"), false) == R"({"a":[1,2]})");
    CHECK(shown(tool_result("42"), false) == "42");
    CHECK(shown(tool_result("42"), true) == R"("42")");
    CHECK(shown(tool_result("no json"), false) == R"("no json")");
    CHECK(shown(tool_result(), false) == "null");
    CHECK(shown(tool_result(), true) == "null");
}

TEST_CASE("if text is wanted and the structured content is not text, the text beside it is the value") {
    CHECK(shown(structured(json::object({{"sum", 3}}), "three"), true) == R"("three")");
    tool_result bare;
    bare.structured = json::object({{"sum", 3}});
    CHECK(shown(bare, true) == R"({"sum":3})");
}

TEST_CASE("text among other blocks is found, and several texts are joined as lines") {
    tool_result r(std::vector<content>{content::image("", "image/png"), content("one").with({.priority = 1.0})});
    CHECK(shown(r, true) == R"("one")");
    r.content.emplace_back("two");
    CHECK(shown(r, true) == R"("one\ntwo")");
    CHECK(shown(tool_result(content::image("", "image/png")), true) == "null");
}

TEST_CASE("a typed call returns the value, throws the tool's failure, or reports the expected type") {
    CHECK(typed<sum>(structured(json::object({{"total", 3}}), "three")) == R"({"total":3})");
    CHECK(typed<sum>(tool_result(R"({"total":3})")) == R"({"total":3})");
    CHECK(typed<int>(tool_result("7")) == "7");
    CHECK(typed<std::string>(tool_result("7")) == R"("7")");
    CHECK(typed<sum>(tool_result::failure("no such row")) == "failed: no such row");
    CHECK(typed<sum>(tool_result("seven")) ==
          "bad message: the tool's result does not have the expected type: result: expected object, found string");
    CHECK(
        typed<sum>(structured(json::object({{"total", "x"}}), "")) ==
        "bad message: the tool's result does not have the expected type: result.total: expected integer, found string");
}

TEST_CASE("the failure of a tool carries its whole result, and a message even if the tool gave none") {
    tool_result r = tool_result::failure("first");
    r.content.emplace_back("second");
    r.structured = 7;
    tool_failed e(r);
    CHECK(std::string(e.what()) == "first\nsecond");
    CHECK(e.result().structured == json::value(7));
    tool_result silent;
    silent.is_error = true;
    CHECK(std::string(tool_failed(silent).what()) == "the tool reported an error without a text");
}

TEST_CASE("VER-16 the era of a server is remembered until it is dropped") {
    era_memory eras;
    CHECK(!eras.is_modern("a").has_value());
    eras.remember("a", true);
    eras.remember("b", false);
    CHECK(eras.is_modern("a") == true);
    CHECK(eras.is_modern("b") == false);
    eras.remember("a", false);
    CHECK(eras.is_modern("a") == false);
    eras.forget("a");
    eras.forget("a");
    CHECK(!eras.is_modern("a").has_value());
}

TEST_CASE("VER-16 of very many servers the most recent ones are remembered") {
    era_memory eras;
    for (int i = 0; i < 1024; ++i) eras.remember(std::to_string(i), true);
    eras.remember("0", true);  // again: now 1 is the oldest
    eras.remember("one more", false);
    CHECK(eras.is_modern("0") == true);
    CHECK(!eras.is_modern("1").has_value());
    CHECK(eras.is_modern("2") == true);
    CHECK(eras.is_modern("one more") == false);
}

TEST_CASE("VER-16 clients on several threads share the remembered eras") {
    era_memory eras;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&eras, t] {
            for (int i = 0; i < 500; ++i) {
                const std::string name = std::to_string(t * 1000 + i);
                eras.remember(name, t % 2 == 0);
                eras.is_modern(std::to_string(i));
                if (i % 2) eras.forget(name);
            }
        });
    }
    for (std::thread& t : threads) t.join();
    CHECK(eras.is_modern("2498") == true);
    CHECK(!eras.is_modern("2499").has_value());
}
