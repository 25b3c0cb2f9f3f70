#include "feature_server.hpp"

#include <keel/base64.hpp>

#include <limits>

namespace json = keel::json;
using keel::test::all_versions;
using keel::test::feature_server;
using keel::test::is_modern;
using keel::test::refusal_of;

namespace {

struct note_variables {
    std::string owner;
    std::optional<std::string> id;
};
KEEL_DESCRIBE(note_variables, owner, id)

const json::value& contents(const json::value& message) { return message["result"]["contents"]; }

keel::resource resource_named(std::string uri) {
    keel::resource r;
    r.name = "x";
    r.uri = std::move(uri);
    return r;
}

keel::resource_template family(std::string text) {
    keel::resource_template t;
    t.name = "x";
    t.uri_template = std::move(text);
    return t;
}

}  // namespace

TEST_CASE("RES-01: the resources capability is declared if there are resources, and then resources/list works") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        auto declared = [&](feature_server& s) {
            if (is_modern(version)) {
                s.speak(version);
                return s.ask("server/discover")["result"]["capabilities"].contains("resources");
            }
            s.start();
            s.send(s.initialize_line("\"i\"", version));
            return s.seen.answer_message("\"i\"")["result"]["capabilities"].contains("resources");
        };
        {
            feature_server none;
            CHECK_FALSE(declared(none));
        }
        feature_server some;
        some.add_resource("a:b", [] { return "x"; });
        CHECK(declared(some));
        feature_server promised(keel::test::with_options([](auto& o) { o.declare_resources = true; }));
        promised.speak(version);
        CHECK(json::to_string(promised.ask("resources/list")["result"]["resources"]) == "[]");
        CHECK(json::to_string(promised.ask("resources/templates/list")["result"]["resourceTemplates"]) == "[]");
        feature_server nothing;
        nothing.speak(version);
        CHECK(nothing.error_of(nothing.ask("resources/list")).starts_with("-32601"));
    }
}

TEST_CASE("every signature of a resource function produces contents of its type") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        feature_server s;
        keel::resource about = resource_named("note://text");
        about.mime_type = "text/markdown";
        s.add_resource(about, [] { return std::string("# hi"); });
        s.add_resource("note://quick", [] { return "quick"; }, {.quick = true});
        s.add_resource("note://bytes", [](keel::context&) { return keel::bytes{std::string("\0\xff\x10", 3)}; });
        s.add_resource("note://task", []() -> keel::task<std::string> { co_return "later"; });
        s.add_resource("note://several", [] {
            std::vector<keel::resource_contents> all;
            all.push_back(keel::resource_contents::of_text("note://several/1", "one"));
            all.push_back(keel::resource_contents::of_bytes("note://several/2", "\xfe", "image/png"));
            return all;
        });
        s.add_resource("note://empty", [] { return keel::read_result(); });
        s.speak(version);
        CHECK(contents(s.read("note://text")) ==
              json::parse(R"([{"uri":"note://text","mimeType":"text/markdown","text":"# hi"}])"));
        CHECK(contents(s.read("note://quick")) == json::parse(R"([{"uri":"note://quick","text":"quick"}])"));
        CHECK(contents(s.read("note://task")) == json::parse(R"([{"uri":"note://task","text":"later"}])"));
        json::value bytes = contents(s.read("note://bytes")).at(0);
        CHECK(keel::base64_decode(bytes["blob"].as_string()) == std::string("\0\xff\x10", 3));  // RES-04
        CHECK_FALSE(bytes.contains("text"));
        CHECK(contents(s.read("note://several")) ==
              json::parse(R"([{"uri":"note://several/1","mimeType":"text/plain","text":"one"},
                              {"uri":"note://several/2","mimeType":"image/png","blob":"/g=="}])"));
        CHECK(json::to_string(contents(s.read("note://empty"))) == "[]");
        json::value whole = s.read("note://quick");
        CHECK(whole["result"].contains("resultType") == is_modern(version));
    }
}

TEST_CASE("templates match in the order of registration, after the resources") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        feature_server s;
        keel::resource_template about = family("note://{owner}/{id}");
        about.mime_type = "text/plain";
        s.add_template(about, [](note_variables v) { return v.owner + "+" + v.id.value_or("-"); });
        s.add_template("note://{owner}/{+rest}", [](const keel::resource_request& r) {
            return r.uri + " " + r.variables.at("owner") + "|" + r.variables.at("rest");
        });
        s.add_resource("note://ann/exact", [] { return "itself"; });
        s.speak(version);
        auto text = [&](std::string_view uri) { return std::string(contents(s.read(uri)).at(0)["text"].as_string()); };
        CHECK(text("note://ann/exact") == "itself");
        CHECK(text("note://ann/7") == "ann+7");
        CHECK(text("note://ann/a%20b") == "ann+a b");
        CHECK(text("note://ann/a/b") == "note://ann/a/b ann|a/b");
        json::value one = contents(s.read("note://ann/7")).at(0);
        CHECK(one["uri"] == json::value("note://ann/7"));
        CHECK(one["mimeType"] == json::value("text/plain"));
    }
}

TEST_CASE("RES-02, RES-03, BASE-14: an unknown resource is an error with its URI and the code of the revision") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        feature_server s;
        s.add_resource("note://here", [] { return "x"; });
        s.add_template("row://{id}",
                       [](const keel::resource_request& r) -> std::string { throw keel::resource_not_found(r.uri); });
        s.add_template("task://{id}", [](const keel::resource_request r) -> keel::task<std::string> {
            throw keel::resource_not_found(r.uri);
            co_return "";
        });
        s.speak(version);
        for (const char* uri : {"note://gone", "row://9", "task://9"}) {
            CAPTURE(uri);
            json::value answer = s.read(uri);
            CHECK(answer["error"]["code"] == json::value(is_modern(version) ? -32602 : -32002));
            CHECK(answer["error"]["data"] == json::object({{"uri", uri}}));
            CHECK_FALSE(answer.contains("result"));
        }
        s.core->resources.remove("note://here");
        CHECK(s.read("note://here").contains("error"));
    }
}

TEST_CASE("RES-04: a request without a valid URI is refused") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        feature_server s;
        s.add_template("{+any}", [](const keel::resource_request& r) { return r.uri; });
        s.speak(version);
        CHECK(s.error_of(s.ask("resources/read")) == "-32602 uri: expected string");
        CHECK(s.error_of(s.ask("resources/read", R"("uri":7)")) == "-32602 uri: expected string");
        CHECK(s.error_of(s.ask("resources/read", R"("uri":null)")) == "-32602 uri: expected string");
        for (const char* bad : {"", "no scheme", "note://a b", "note://%zz", "note://[1]/", "://x", "n\u00f6te://x"}) {
            CAPTURE(bad);
            CHECK(s.error_of(s.read(bad)) == "-32602 uri: invalid URI");
        }
        CHECK(s.error_of(s.read("note://fine")) == "");
    }
}

TEST_CASE("RES-05: a URI whose variables leave their folder is not found, and the reason is logged") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        feature_server s;
        int reads = 0;
        s.add_template("file:///docs/{+path}",
                       [&](const keel::resource_request& r) {
                           ++reads;
                           return r.variables.at("path");
                       },
                       {.quick = true});
        s.speak(version);
        for (const char* uri :
             {"file:///docs/../etc/passwd", "file:///docs/a/../../b", "file:///docs/..", "file:///docs/.",
              "file:///docs/%2e%2e/etc", "file:///docs/%2E%2E%2Fetc", "file:///docs/..%2fetc",
              "file:///docs//etc/passwd", "file:///docs/%2fetc%2fpasswd", "file:///docs/..%5Cetc",
              "file:///docs/%5C%5Chost", "file:///docs/C:/x", "file:///docs/C%3A%5Cx", "file:///docs/%252e%252e/etc",
              "file:///docs/%252e%252e%252fetc", "file:///docs/a%00b"}) {
            CAPTURE(uri);
            json::value answer = s.read(uri);
            CHECK(answer["error"]["code"] == json::value(is_modern(version) ? -32602 : -32002));
            CHECK(answer["error"]["message"] == json::value("resource not found"));
        }
        CHECK(reads == 0);
        CHECK(s.logged("file:///docs/../etc/passwd"));
        for (const char* uri : {"file:///docs/a", "file:///docs/a/b.txt", "file:///docs/..a", "file:///docs/a..b/c"}) {
            CAPTURE(uri);
            CHECK(s.error_of(s.read(uri)) == "");
        }
        CHECK(reads == 4);
        // Another template may allow it.
        s.add_template("file:///{+anything}", [](const keel::resource_request& r) { return r.uri; },
                       {.allow_path_traversal = true});
        CHECK(s.error_of(s.read("file:///docs/../etc/passwd")) == "");
        CHECK(reads == 4);
    }
}

TEST_CASE("CACHE-01: the cache hint of a read comes from the read, the resource or the server, in this order") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        using std::chrono::milliseconds;
        feature_server s(
            keel::test::with_options([](auto& o) { o.cache["resources/read"] = {milliseconds(1), true}; }));
        s.add_resource("a:server", [] { return "x"; });
        s.add_resource("a:resource", [] { return "x"; }, {.cache = keel::cache_hint{milliseconds(2), false}});
        s.add_template("t:{x}", [] { return "x"; }, {.cache = keel::cache_hint{milliseconds(3), true}});
        auto own = [] {
            keel::read_result r(keel::resource_contents::of_text("a:own", "x"));
            r.cache = keel::cache_hint{milliseconds(4), true};
            return r;
        };
        s.add_resource("a:own", own, {.cache = keel::cache_hint{milliseconds(2), false}});
        s.speak(version);
        auto hint = [&](const char* uri) -> std::string {
            json::value answer = s.read(uri);
            const json::value& r = answer["result"];
            if (!r.contains("ttlMs") && !r.contains("cacheScope")) return "none";
            return std::to_string(r["ttlMs"].as_int()) + " " + std::string(r["cacheScope"].as_string());
        };
        bool modern = is_modern(version);
        CHECK(hint("a:server") == (modern ? "1 public" : "none"));
        CHECK(hint("a:resource") == (modern ? "2 private" : "none"));
        CHECK(hint("t:1") == (modern ? "3 public" : "none"));
        CHECK(hint("a:own") == (modern ? "4 public" : "none"));
    }
    feature_server plain;
    plain.add_resource("a:b", [] { return "x"; });
    plain.speak("2026-07-28");
    CHECK(plain.read("a:b")["result"]["ttlMs"] == json::value(0));
    CHECK(plain.read("a:b")["result"]["cacheScope"] == json::value("private"));
}

TEST_CASE("resources, templates and contents have the members of their revision") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        feature_server s;
        keel::resource r = resource_named("a:b");
        r.title = "Title";
        r.description = "About it";
        r.mime_type = "text/plain";
        r.size = 12;
        r.annotations = keel::annotations{{keel::role::user}, 0.5, "2025-01-12T15:00:58Z"};
        r.icons.push_back({"https://example.com/i.png", "image/png", {"48x48"}});
        r.meta = json::object({{"com.example/x", 1}});
        s.add_resource(r, [] {
            auto c = keel::resource_contents::of_text("a:b", "x");
            c.meta = json::object({{"com.example/y", 2}});
            return c;
        });
        keel::resource_template t = family("a:{x}");
        t.title = "Title";
        t.icons = r.icons;
        t.meta = r.meta;
        s.add_template(t, [] { return "x"; });
        s.speak(version);
        bool titles = version >= "2025-06-18";
        bool icons = version >= "2025-11-25";
        json::value told = s.ask("resources/list")["result"]["resources"].at(0);
        CHECK(told["uri"] == json::value("a:b"));
        CHECK(told["annotations"]["priority"] == json::value(0.5));
        CHECK(told["annotations"].contains("lastModified") == titles);
        CHECK(told.contains("title") == titles);
        CHECK(told.contains("icons") == icons);
        CHECK(told.contains("_meta") == titles);
        json::value family_told = s.ask("resources/templates/list")["result"]["resourceTemplates"].at(0);
        CHECK(family_told["uriTemplate"] == json::value("a:{x}"));
        CHECK(family_told.contains("title") == titles);
        CHECK(family_told.contains("icons") == icons);
        CHECK(family_told.contains("_meta") == titles);
        CHECK(contents(s.read("a:b")).at(0).contains("_meta") == titles);
        CHECK(contents(s.read("a:b")).at(0)["text"] == json::value("x"));
    }
}

TEST_CASE("invalid contents are an internal error, and the next read is served") {
    feature_server s;
    auto one = [](auto change) {
        return [change] {
            keel::resource_contents c = keel::resource_contents::of_text("a:b", "x");
            change(c);
            return c;
        };
    };
    s.add_resource("bad:neither", one([](auto& c) { c.text.reset(); }));
    s.add_resource("bad:both", one([](auto& c) { c.blob = ""; }));
    s.add_resource("bad:base64", one([](auto& c) {
                       c.text.reset();
                       c.blob = "not base64!";
                   }));
    s.add_resource("bad:uri", one([](auto& c) { c.uri = "a b"; }));
    s.add_resource("bad:meta", one([](auto& c) { c.meta = 7; }));
    s.add_resource("bad:text", [] { return std::string("\xff"); });
    s.add_resource("bad:ttl", [] {
        keel::read_result r;
        r.cache = keel::cache_hint{std::chrono::milliseconds(-1)};
        return r;
    });
    s.add_resource("good:x", [] { return "x"; });
    s.speak("2025-11-25");
    for (const char* uri : {"bad:neither", "bad:both", "bad:base64", "bad:uri", "bad:meta", "bad:text", "bad:ttl"}) {
        CAPTURE(uri);
        CHECK(s.error_of(s.read(uri)) == "-32603 internal error");
        CHECK(s.error_of(s.read("good:x")) == "");
    }
    CHECK(s.logged("blob: invalid Base64"));
}

TEST_CASE("resources/list has the resources, then those listed by templates, each URI once") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        feature_server s;
        s.add_resource("file:///a", [] { return "x"; });
        s.add_resource("file:///b", [] { return "x"; });
        keel::template_options options;
        options.list = [](keel::context&, const std::string& cursor) {
            keel::resource_page page;
            if (cursor.empty()) {
                page.resources = {resource_named("file:///b"), resource_named("file:///c"),
                                  resource_named("file:///c")};
                page.next = "more";
            } else {
                page.resources = {resource_named("file:///d")};
            }
            return page;
        };
        s.add_template("file:///{x}", [] { return "x"; }, options);
        s.add_template("silent:{x}", [] { return "x"; });
        options.list = [](keel::context&, const std::string&) {
            return keel::resource_page{{resource_named("file:///d"), resource_named("mem:e")}, ""};
        };
        s.add_template("mem:{x}", [] { return "x"; }, options);
        s.speak(version);
        auto all = s.list_all("resources/list", "resources", "uri");
        CHECK(all.names == keel::test::lines{"file:///a", "file:///b", "file:///c", "file:///d", "mem:e"});
        CHECK(all.page_sizes.size() == 1);
    }
}

TEST_CASE("an exception of a list function is an internal error whose text is only logged") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        feature_server s;
        int what = 0;
        keel::template_options options;
        options.list = [&](keel::context&, const std::string& cursor) -> keel::resource_page {
            switch (what) {
                case 0: throw std::runtime_error("the disk is gone");
                case 1: return {{resource_named("no scheme")}, ""};
                case 2: return {{}, cursor + "same"};
                case 3: return {{}, cursor.empty() ? "again" : cursor};
                case 4: return {{}, std::string(10000, 'x')};
                default: throw keel::error(keel::error_code::invalid_params, "cursor: unknown");
            }
        };
        s.add_template("x:{y}", [] { return "x"; }, options);
        s.speak(version);
        CHECK(s.error_of(s.ask("resources/list")) == "-32603 internal error");
        CHECK(s.logged("the disk is gone"));
        what = 1;
        CHECK(s.error_of(s.ask("resources/list")) == "-32603 internal error");
        CHECK(s.logged("resource \"no scheme\": uri: invalid URI"));
        what = 2;  // always an empty page with a cursor: the worker is released, the client may continue
        CHECK(s.ask("resources/list")["result"].contains("nextCursor"));
        what = 3;
        CHECK(s.error_of(s.ask("resources/list")) == "-32603 internal error");
        what = 4;
        CHECK(s.error_of(s.ask("resources/list")) == "-32603 internal error");
        what = 5;
        CHECK(s.error_of(s.ask("resources/list")) == "-32602 cursor: unknown");
    }
}

TEST_CASE("RES-04, RES-06: an invalid resource is refused with its URI and the field") {
    feature_server s;
    auto add = [&](auto change, keel::resource_options options = {}) {
        return refusal_of([&] {
            keel::resource r = resource_named("a:b");
            change(r);
            s.add_resource(r, [] { return "x"; }, options);
        });
    };
    CHECK(add([](auto& r) { r.uri = ""; }) == "keel: resource \"\": uri: invalid URI");
    CHECK(add([](auto& r) { r.uri = "no scheme"; }) == "keel: resource \"no scheme\": uri: invalid URI");
    CHECK(add([](auto& r) { r.uri = "a:\xff"; }) == "keel: resource \"?\": uri: invalid URI");
    CHECK(add([](auto& r) { r.name = ""; }) == "keel: resource \"a:b\": name: must not be empty");
    CHECK(add([](auto& r) { r.name = "\xff"; }) == "keel: resource \"a:b\": name: must be UTF-8");
    CHECK(add([](auto& r) { r.title = "\xff"; }) == "keel: resource \"a:b\": title: must be UTF-8");
    CHECK(add([](auto& r) { r.description = "\xff"; }) == "keel: resource \"a:b\": description: must be UTF-8");
    CHECK(add([](auto& r) { r.mime_type = "\xff"; }) == "keel: resource \"a:b\": mime_type: must be UTF-8");
    CHECK(add([](auto& r) { r.size = -1; }) == "keel: resource \"a:b\": size: must not be negative");
    CHECK(add([](auto& r) { r.meta = 7; }) == "keel: resource \"a:b\": meta: must be a JSON object");
    CHECK(add([](auto& r) { r.meta = json::object({{"a b", 1}}); }) ==
          "keel: resource \"a:b\": meta: \"a b\" is not a valid key");
    CHECK(add([](auto& r) { r.meta = json::object({{"x", std::numeric_limits<double>::infinity()}}); }) ==
          "keel: resource \"a:b\": meta: is not valid JSON");
    for (double p : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
        CHECK(add([p](auto& r) { r.annotations = keel::annotations{{}, p, ""}; }) ==
              "keel: resource \"a:b\": annotations.priority: must be between 0 and 1");
    }
    CHECK(add([](auto& r) { r.annotations = keel::annotations{{}, {}, "\xff"}; }) ==
          "keel: resource \"a:b\": annotations.last_modified: must be UTF-8");
    CHECK(add([](auto& r) { r.icons.push_back({"i.png"}); }) ==
          "keel: resource \"a:b\": icons: source must be a valid URI");
    CHECK(add([](auto&) {}, {.cache = keel::cache_hint{std::chrono::milliseconds(-1)}}) ==
          "keel: resource \"a:b\": cache: ttl must not be negative");
    CHECK(refusal_of([] {
              keel::server_side::resource_offer(keel::detail::resource_entry{resource_named("a:b"), {}, {}});
          }) == "keel: resource \"a:b\": handler: must not be empty");
    CHECK(add([](auto&) {}) == "");
    CHECK(add([](auto&) {}) == "keel: resource \"a:b\": already exists");
    CHECK(add([](auto&) {}, {.replace = true}) == "");
}

TEST_CASE("an invalid resource template is refused with its text and the field") {
    feature_server s;
    auto add = [&](std::string text, keel::template_options options = {}) {
        return refusal_of([&] { s.add_template(family(text), [] { return "x"; }, options); });
    };
    const std::string start = "keel: resource template \"";
    CHECK(add("") == start + "\": uri_template: must not be empty");
    CHECK(add("a:{x") == start + "a:{x\": uri_template: unclosed expression at 2");
    for (const char* text : {"notes/{id}", "/{id}", "notes", ":{x}", "a b:{x}"}) {
        CHECK(add(text) == start + text + "\": uri_template: must begin with a URI scheme such as \"file:\"");
    }
    keel::template_options options;
    options.complete["y"] = [](keel::context&, const keel::completion_request&) { return keel::completion(); };
    CHECK(add("a:{x}", options) == start + "a:{x}\": complete: unknown variable \"y\"");
    options.complete = {{"x", {}}};
    CHECK(add("a:{x}", options) == start + "a:{x}\": complete: the function for \"x\" is empty");
    options.complete.clear();
    options.cache = keel::cache_hint{std::chrono::milliseconds(-1)};
    CHECK(add("a:{x}", options) == start + "a:{x}\": cache: ttl must not be negative");
    CHECK(refusal_of([&] {
              keel::resource_template t = family("a:{x}");
              t.name = "";
              s.add_template(t, [] { return "x"; });
          }) == start + "a:{x}\": name: must not be empty");
    CHECK(refusal_of([] {
              keel::server_side::template_offer(keel::detail::template_entry{family("a:{x}"), {}, {}});
          }) == start + "a:{x}\": handler: must not be empty");
    CHECK(add("a:{x}") == "");
    CHECK(add("{+whole}") == "");
    CHECK(add("a:{x}") == start + "a:{x}\": already exists");
}
