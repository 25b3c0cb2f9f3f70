#include "feature_server.hpp"
#include "server/cursor.hpp"

#include <keel/base64.hpp>

#include <map>
#include <set>

namespace json = keel::json;
using keel::protocol::method;
using keel::server_side::list_position;
using keel::server_side::read_cursor;
using keel::server_side::write_cursor;
using keel::test::all_versions;
using keel::test::feature_server;
using keel::test::is_modern;
using keel::test::lines;
using keel::test::with_page_size;

namespace {

std::string numbered(std::string_view start, std::size_t i) {
    std::string digits = std::to_string(i);
    return std::string(start) + std::string(5 - digits.size(), '0') + digits;
}

keel::resource named(std::string uri) {
    keel::resource r;
    r.name = "x";
    r.uri = std::move(uri);
    return r;
}

/// The four lists and their methods.
struct list_of {
    std::string_view method, key, member;
};
constexpr list_of lists[] = {
    {"tools/list", "tools", "name"},
    {"prompts/list", "prompts", "name"},
    {"resources/list", "resources", "uri"},
    {"resources/templates/list", "resourceTemplates", "uriTemplate"},
};

void fill(feature_server& s, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        s.tool(numbered("t", i), [] { return "x"; }, {.quick = true});
        s.add_prompt(numbered("p", i), [] { return "x"; });
        s.add_resource(numbered("r:", i), [] { return "x"; });
        s.add_template(numbered("r:", i) + "{x}", [] { return "x"; });
    }
}

}  // namespace

TEST_CASE("TOOL-07, PAG-03: every list is paged, in the order in which its entries were added") {
    for (std::string_view version : all_versions) {
        for (std::size_t count : {0u, 1u, 4u, 5u, 6u, 10u, 11u}) {
            CAPTURE(version);
            CAPTURE(count);
            feature_server s(keel::test::with_options([](auto& o) {
                o.page_size = 5;
                o.declare_prompts = o.declare_resources = true;
            }));
            fill(s, count);
            s.speak(version);
            for (const list_of& each : lists) {
                CAPTURE(each.method);
                auto all = s.list_all(each.method, each.key, each.member);
                REQUIRE(all.names.size() == count);
                CHECK(std::is_sorted(all.names.begin(), all.names.end()));
                CHECK(all.page_sizes.size() == std::max<std::size_t>((count + 4) / 5, 1));
                CHECK(*std::max_element(all.page_sizes.begin(), all.page_sizes.end()) <= 5);
            }
        }
    }
}

TEST_CASE("PAG-03: a cursor that was not created for this list is refused") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        feature_server s(with_page_size(2));
        fill(s, 5);
        s.speak(version);
        std::map<std::string_view, std::string> cursors;
        for (const list_of& each : lists) {
            cursors[each.method] = s.list_all(each.method, each.key, each.member).cursors.at(0);
        }
        for (const list_of& each : lists) {
            CAPTURE(each.method);
            auto with = [&](std::string_view cursor) {
                return s.error_of(s.ask(each.method, R"("cursor":)" + std::string(cursor)));
            };
            for (const auto& [other, cursor] : cursors) {
                CHECK(with('"' + cursor + '"') ==
                      (other == each.method ? "" : "-32602 cursor: invalid or of another list"));
            }
            const std::string good = cursors[each.method];
            std::string changed = good;
            changed[5] = changed[5] == 'A' ? 'B' : 'A';
            for (const std::string& bad : {std::string(), std::string("0"), std::string("1"), std::string("garbage"),
                                           std::string("AAAA"), good + "A", good + "=", " " + good, good.substr(1),
                                           good.substr(0, good.size() - 1), changed, std::string(100000, 'A')}) {
                CAPTURE(bad);
                CHECK(with('"' + bad + '"') == "-32602 cursor: invalid or of another list");
            }
            for (const char* bad : {"7", "null", "{}", "[\"x\"]"}) CHECK(with(bad) == "-32602 cursor: expected string");
        }
    }
}

TEST_CASE("PAG-03: paging 10000 resources while others are added and removed returns each remaining one exactly once") {
    for (std::string_view version : {all_versions.front(), all_versions.back()}) {
        CAPTURE(version);
        feature_server s(with_page_size(700));
        for (std::size_t i = 0; i < 10000; ++i) s.add_resource(numbered("r:", i), [] { return "x"; });
        s.speak(version);
        std::set<std::string> removed;
        std::size_t page = 0;
        auto all = s.list_all("resources/list", "resources", "uri", [&] {
            // Removes some entries that were listed (also the last one) and some that were not, adds new ones, replaces
            // one.
            ++page;
            for (std::size_t i : {page * 3, page * 700 - 1, page * 700 + 5, 9999 - page}) {
                std::string uri = numbered("r:", i % 10000);
                if (s.core->resources.remove(uri)) removed.insert(uri);
            }
            s.add_resource(numbered("new:", page), [] { return "x"; });
            s.add_resource(numbered("r:", 5000), [] { return "y"; }, {.replace = true});
        });
        std::map<std::string, int> shown;
        for (const std::string& uri : all.names) ++shown[uri];
        for (const auto& [uri, times] : shown) CHECK_MESSAGE(times == 1, uri);
        for (std::size_t i = 0; i < 10000; ++i) {
            std::string uri = numbered("r:", i);
            if (!removed.contains(uri)) CHECK_MESSAGE(shown.contains(uri), uri);
        }
        CHECK(removed.size() > 20);
        CHECK(all.page_sizes.size() > 10);
        for (std::size_t i = 0; i + 1 < all.page_sizes.size(); ++i) CHECK(all.page_sizes[i] == 700);
    }
}

TEST_CASE("TOOL-07: 1000 tools are one page by default, with the same bytes each time, and paged if page_size is set") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        for (std::size_t page_size : {1000u, 64u}) {
            feature_server s(with_page_size(page_size));
            for (std::size_t i = 0; i < 1000; ++i) s.tool(numbered("t", i), [] { return "x"; });
            s.speak(version);
            auto all = s.list_all("tools/list", "tools", "name");
            CHECK(all.names.size() == 1000);
            CHECK(std::is_sorted(all.names.begin(), all.names.end()));
            CHECK(all.page_sizes.size() == (page_size == 1000 ? 1 : 16));
            CHECK(json::to_string(s.ask("tools/list")["result"]) == json::to_string(s.ask("tools/list")["result"]));
        }
    }
    keel::server_options defaults;
    CHECK(defaults.page_size == 1000);
}

TEST_CASE("CACHE-01, CACHE-02: every page of a list has the same cache hint in 2026-07-28") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        feature_server s(keel::test::with_options([](auto& o) {
            o.page_size = 2;
            o.cache["tools/list"] = {std::chrono::seconds(60), true};
            o.cache["resources/list"] = {std::chrono::seconds(5), false};
        }));
        fill(s, 5);
        s.speak(version);
        for (const list_of& each : lists) {
            CAPTURE(each.method);
            std::int64_t ttl = each.method == "tools/list" ? 60000 : each.method == "resources/list" ? 5000 : 0;
            std::string cursor;
            for (int page = 0; page < 3; ++page) {
                json::value result = s.ask(each.method, cursor)["result"];
                CHECK(result.contains("ttlMs") == is_modern(version));
                if (is_modern(version)) {
                    CHECK(result["resultType"] == json::value("complete"));
                    CHECK(result["ttlMs"] == json::value(ttl));
                    CHECK(result["cacheScope"] == json::value(each.method == "tools/list" ? "public" : "private"));
                }
                cursor = R"("cursor":")" + std::string(result["nextCursor"].if_string().value_or("")) + '"';
            }
        }
    }
}

TEST_CASE(
    "the resources listed by templates are paged together with the others, whatever the template's own page size") {
    for (std::size_t page_size : {1u, 2u, 3u, 4u, 5u, 7u, 100u}) {
        for (std::size_t inner_size : {1u, 2u, 5u, 50u}) {
            CAPTURE(page_size);
            CAPTURE(inner_size);
            feature_server s(with_page_size(page_size));
            for (std::size_t i = 0; i < 4; ++i) s.add_resource(numbered("a:", i), [] { return "x"; });
            for (const char* scheme : {"b:", "c:"}) {
                keel::template_options options;
                options.list = [=](keel::context&, const std::string& cursor) {
                    std::size_t from = cursor.empty() ? 0 : std::stoul(cursor);
                    keel::resource_page page;
                    for (std::size_t i = from; i < std::min<std::size_t>(from + inner_size, 6); ++i) {
                        page.resources.push_back(named(numbered(scheme, i)));
                    }
                    if (from + inner_size < 6) page.next = std::to_string(from + inner_size);
                    return page;
                };
                s.add_template(std::string(scheme) + "{x}", [] { return "x"; }, options);
            }
            s.add_template("d:{x}", [] { return "x"; });
            s.speak("2025-11-25");
            auto all = s.list_all("resources/list", "resources", "uri");
            CHECK(all.names.size() == 16);
            CHECK(std::is_sorted(all.names.begin(), all.names.end()));
            CHECK(std::set<std::string>(all.names.begin(), all.names.end()).size() == 16);
            CHECK(*std::max_element(all.page_sizes.begin(), all.page_sizes.end()) <= page_size);
            CHECK(all.page_sizes.size() == (16 + page_size - 1) / page_size);
        }
    }
}

TEST_CASE("the list of a template may change between pages, and the template may be removed") {
    std::vector<std::string> there;
    for (std::size_t i = 0; i < 20; ++i) there.push_back(numbered("b:", i));
    keel::template_options options;
    options.list = [&](keel::context&, const std::string&) {
        keel::resource_page page;
        for (const std::string& uri : there) page.resources.push_back(named(uri));
        return page;
    };
    SUBCASE("entries are removed before, at and after the cursor") {
        feature_server s(with_page_size(5));
        s.add_template("b:{x}", [] { return "x"; }, options);
        s.speak("2026-07-28");
        int page = 0;
        auto all = s.list_all("resources/list", "resources", "uri", [&] {
            if (++page == 1) std::erase(there, "b:00000");
            else if (page == 2) std::erase(there, "b:00009");  // the last one that was listed
            else std::erase(there, "b:00018");
        });
        CHECK(all.names.size() == 19);
        CHECK(std::is_sorted(all.names.begin(), all.names.end()));
        CHECK(all.names.back() == "b:00019");
    }
    SUBCASE("entries are added before the cursor") {
        feature_server s(with_page_size(5));
        s.add_template("b:{x}", [] { return "x"; }, options);
        s.speak("2026-07-28");
        auto all = s.list_all("resources/list", "resources", "uri",
                              [&] { there.insert(there.begin(), numbered("a:", there.size())); });
        CHECK(all.names.size() == 20);
        CHECK(std::is_sorted(all.names.begin(), all.names.end()));
    }
    SUBCASE("the template is removed: the list continues with the next one") {
        feature_server s(with_page_size(5));
        s.add_template("b:{x}", [] { return "x"; }, options);
        keel::template_options other;
        other.list = [](keel::context&, const std::string& cursor) {
            CHECK(cursor.empty());
            return keel::resource_page{{named("z:1")}, ""};
        };
        s.add_template("z:{x}", [] { return "x"; }, other);
        s.speak("2026-07-28");
        auto all = s.list_all("resources/list", "resources", "uri", [&] { s.core->templates.remove("b:{x}"); });
        CHECK(all.names == lines{"b:00000", "b:00001", "b:00002", "b:00003", "b:00004", "z:1"});
    }
}

TEST_CASE("cursors round-trip, and other texts are rejected") {
    list_position at;
    at.number = 0xfedcba9876543210;
    CHECK(read_cursor(method::tools_list, write_cursor(method::tools_list, at)) == at);
    CHECK_FALSE(read_cursor(method::prompts_list, write_cursor(method::tools_list, at)));
    at.behind_templates = true;
    at.skip = 17;
    at.last_seen = keel::server_side::digest_of("x");
    for (std::size_t size : {0u, 1u, 4096u}) {
        at.inner = std::string(size, '\0');
        std::string text = write_cursor(method::resources_list, at);
        CHECK(text.size() < 6000);
        CHECK(read_cursor(method::resources_list, text) == at);
        // Only the list of resources also includes templates.
        CHECK_FALSE(read_cursor(method::tools_list, write_cursor(method::tools_list, at)));
    }
    at.inner = std::string(4097, 'x');
    CHECK_FALSE(read_cursor(method::resources_list, write_cursor(method::resources_list, at)));
    // Every cursor with one changed bit, and every part of a cursor, is invalid.
    at.inner = "inner";
    std::string bytes = *keel::base64url_decode(write_cursor(method::resources_list, at));
    for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
        std::string other = bytes;
        other[i / 8] = static_cast<char>(other[i / 8] ^ (1 << (i % 8)));
        CHECK_FALSE(read_cursor(method::resources_list, keel::base64url_encode(other)));
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        CHECK_FALSE(read_cursor(method::resources_list, keel::base64url_encode(bytes.substr(0, i))));
    }
}
