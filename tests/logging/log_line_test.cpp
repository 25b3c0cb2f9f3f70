#include "logging/line_writer.hpp"

#include <keel/json.hpp>
#include <keel/log.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace keel::test {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::system_clock::time_point some_time =
    std::chrono::sys_days(std::chrono::July / 28 / 2026) + 9h + 5min + 3s + 250ms;

std::string line_of(const log_record& r, log_format f, std::string_view name = {}) {
    std::string out;
    append_log_line(out, r, f, name);
    return out;
}

}  // namespace

TEST_CASE("a text line has the time in UTC, the level, the name, the message and the known fields") {
    log_record r{.level = log_level::warning, .time = some_time, .message = "handler failed: no such file"};
    CHECK(line_of(r, log_format::text) == "2026-07-28T09:05:03.250Z warning handler failed: no such file");
    r.request_id = "7";
    r.method = "tools/call";
    r.tool = "greet";
    r.took = 1204567ns;
    r.principal = "Ann Smith";
    r.address = "192.0.2.1";
    CHECK(
        line_of(r, log_format::text, "greeter") ==
        "2026-07-28T09:05:03.250Z warning greeter: handler failed: no such file request=7 method=tools/call tool=greet "
        "ms=1.204 principal=\"Ann Smith\" address=192.0.2.1");
}

TEST_CASE("a JSON line is one valid JSON object") {
    log_record r{.level = log_level::info, .time = some_time, .message = "no \"quotes\""};
    r.request_id = "a b";
    r.took = 0ns;
    r.status = 403;
    r.reason = "Host not allowed";
    const json::value v = json::parse(line_of(r, log_format::json, "greeter"));
    CHECK(v["time"].as_string() == "2026-07-28T09:05:03.250Z");
    CHECK(v["level"].as_string() == "info");
    CHECK(v["server"].as_string() == "greeter");
    CHECK(v["message"].as_string() == "no \"quotes\"");
    CHECK(v["request"].as_string() == "a b");
    CHECK(json::to_string(v["ms"]) == "0.0");
    CHECK(v["status"].as_int() == 403);
    CHECK(v["reason"].as_string() == "Host not allowed");
    CHECK_FALSE(v.contains("tool"));
}

TEST_CASE("no text of a peer can forge or break a line: control characters and invalid UTF-8 are escaped") {
    const std::string evil =
        "x\n2026-01-01 error \r\t\x1b[31m\x7f \xc2\x9b"
        "1m \xff\xc3 \xed\xa0\x80 end\\\"";
    for (log_format f : {log_format::text, log_format::json}) {
        log_record r{.time = some_time, .message = evil};
        r.request_id = r.method = r.tool = r.principal = r.address = r.reason = evil;
        const std::string line = line_of(r, f, evil);
        CAPTURE(line);
        for (char c : line) CHECK((static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
        CHECK(line.find("\xc2\x9b") == std::string::npos);
        CHECK(json::is_utf8(line));
        if (f == log_format::json) CHECK(json::parse(line).is_object());
    }
}

TEST_CASE("a line is shorter than 4096 bytes, whatever the texts are, and truncated between characters") {
    for (std::string unit : {"x", "\n", "\x01", "é", "😀", "\""}) {
        std::string text;
        while (text.size() < 10000) text += unit;
        log_record r{.time = some_time, .message = text};
        r.request_id = r.method = r.tool = r.principal = r.address = r.reason = text;
        for (log_format f : {log_format::text, log_format::json}) {
            const std::string line = line_of(r, f, text);
            CHECK(line.size() < 4096);
            CHECK(json::is_utf8(line));
            CHECK(line.find("…") != std::string::npos);
            if (f == log_format::json) CHECK(json::parse(line).is_object());
        }
    }
}

TEST_CASE("a log sink takes a function of level and text, a function of a record, or nothing") {
    std::vector<std::string> seen;
    log_sink none;
    CHECK_FALSE(none);
    CHECK_FALSE(none.wants(log_level::emergency));
    none(log_level::error, "dropped");
    CHECK_FALSE(log_sink(std::function<void(log_level, std::string_view)>()));
    CHECK_FALSE(log_sink(nullptr));

    log_sink plain = [&](log_level level, std::string_view text) {
        seen.push_back(std::string(name_of(level)) + " " + std::string(text));
    };
    plain(log_level::warning, "a");
    plain(log_record{.level = log_level::info, .message = "b", .tool = "t"});
    CHECK(seen == std::vector<std::string>{"warning a", "info b"});

    log_sink full = [&](const log_record& r) {
        CHECK(r.time != std::chrono::system_clock::time_point());
        seen.push_back(std::string(r.message));
    };
    full(log_level::error, "c");
    CHECK(seen.back() == "c");
}

TEST_CASE("a log sink drops records below its level; functions get no debug records unless they ask for them") {
    int calls = 0;
    auto count = [&](const log_record&) { ++calls; };
    log_sink usual = count;
    CHECK_FALSE(usual.wants(log_level::debug));
    CHECK(usual.wants(log_level::info));
    log_sink all(count, log_level::debug);
    CHECK(all.wants(log_level::debug));
    log_sink few(count, log_level::error);
    few(log_level::warning, "dropped");
    CHECK(calls == 0);
    few(log_level::error, "kept");
    CHECK(calls == 1);
}

}  // namespace keel::test
