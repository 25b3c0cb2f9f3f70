#include "http_common/media_type.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace keel::http;

namespace {

/// "j" for JSON, "e" for event streams, "-" without an Accept header.
std::string accepted(const std::vector<std::string>& values) {
    std::vector<header> headers = {{"Host", "h"}};
    for (const std::string& each : values) headers.push_back({"aCCept", each});
    headers.push_back({"Accept-Language", "application/json"});
    const accepted_types types = read_accept(headers);
    return std::string(types.said ? "" : "-") + (types.json ? "j" : "") + (types.event_stream ? "e" : "");
}

}  // namespace

TEST_CASE("the Accept header lists the accepted types") {
    CHECK(accepted({"application/json, text/event-stream"}) == "je");
    CHECK(accepted({"text/event-stream,application/json"}) == "je");
    CHECK(accepted({"Application/JSON;charset=utf-8 ,\tTEXT/event-stream ; q=0.5"}) == "je");
    CHECK(accepted({"application/json"}) == "j");
    CHECK(accepted({"text/event-stream"}) == "e");
    CHECK(accepted({"text/html"}) == "");
    CHECK(accepted({}) == "-");
    CHECK(accepted({""}) == "");
}

TEST_CASE("several Accept headers are combined") {
    CHECK(accepted({"application/json", "text/event-stream"}) == "je");
    CHECK(accepted({"application/json, text/event-stream", "application/json;q=0"}) == "je");
}

TEST_CASE("wildcards accept, and the most specific entry decides") {
    CHECK(accepted({"*/*"}) == "je");
    CHECK(accepted({"application/*"}) == "j");
    CHECK(accepted({"text/*"}) == "e");
    CHECK(accepted({"text/event-stream;q=0, */*"}) == "j");
    CHECK(accepted({"*/*, text/event-stream;q=0"}) == "j");
    CHECK(accepted({"text/*;q=0, */*"}) == "j");
    CHECK(accepted({"text/*;q=0, text/event-stream"}) == "e");
    CHECK(accepted({"application/json;q=0.000, text/event-stream;q=0.001"}) == "e");
    CHECK(accepted({"*/*;q=0"}) == "");
    CHECK(accepted({"*"}) == "");
    CHECK(accepted({"*/json"}) == "");
}

TEST_CASE("invalid Accept entries are ignored") {
    CHECK(accepted({"application/json;q=2, text/event-stream"}) == "e");
    CHECK(accepted({"application/json;q=, text/event-stream"}) == "e");
    CHECK(accepted({"application/json;q=0.1234, text/event-stream"}) == "e");
    CHECK(accepted({"application/json;q=1.001, text/event-stream"}) == "e");
    CHECK(accepted({"application/json;q, text/event-stream"}) == "e");
    CHECK(accepted({",, application/json;; ,"}) == "j");
    CHECK(accepted({"application/json, application/json-patch, xapplication/json"}) == "j");
    CHECK(accepted({"application/jsonp, application/jso"}) == "");
    CHECK(accepted({"application /json"}) == "");
}

TEST_CASE("separators in quotes are ignored") {
    CHECK(accepted({R"(application/json;a="x, text/event-stream;q=0", text/event-stream)"}) == "je");
    CHECK(accepted({R"(text/html;a="\", application/json, ")"}) == "");
    CHECK(accepted({R"(application/json;a=", text/event-stream)"}) == "");
}

TEST_CASE("the content type must be application/json, with charset UTF-8 if any") {
    for (const char* type : {"application/json", "APPLICATION/Json", "application/json; charset=utf-8",
                             "application/json;charset=\"UTF-8\"", "application/json ; x=y", "application/json;"}) {
        CAPTURE(type);
        CHECK(is_json_type(type));
    }
    for (const char* type : {"", "application/jsonp", "application/json-rpc", "text/json",
                             "application/json; charset=latin1", "application/json; charset",
                             "application/json; charset=utf-8; charset=utf-16", "application/json, text/plain",
                             "application/json text/plain", "application/*", "*/*", "application/json; =x"}) {
        CAPTURE(type);
        CHECK(!is_json_type(type));
    }
}
