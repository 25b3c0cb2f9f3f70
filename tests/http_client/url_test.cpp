#include "http_client/proxy_choice.hpp"
#include "http_client/redirect.hpp"
#include "protocol/url_parts.hpp"

#include <doctest/doctest.h>

#include <map>
#include <stdexcept>
#include <string>

using namespace keel::http_client;
using namespace keel::protocol;

namespace {

std::string why_not(std::string_view url) {
    try {
        url_parts::parse(url);
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return {};
}

std::string followed(std::string_view from, std::string_view location) {
    auto to = redirect_target(url_parts::parse(from), location);
    return to ? to->origin() + to->target : "";
}

std::string proxy_of(std::string_view url, std::map<std::string, std::string> env,
                     std::optional<std::string> said = {}) {
    auto found = choose_proxy(url_parts::parse(url), said, [&](const char* name) -> std::optional<std::string> {
        auto at = env.find(name);
        return at == env.end() ? std::nullopt : std::optional(at->second);
    });
    return found ? found->at.text() : "none";
}

bool exempt(std::string_view url, std::string_view list) { return is_exempt(url_parts::parse(url), list); }

}  // namespace

TEST_CASE("URLs are parsed") {
    const url_parts a = url_parts::parse("http://Example.COM/mcp?x=1#frag");
    CHECK(a.origin() == "http://example.com");
    CHECK(a.port == 80);
    CHECK(a.target == "/mcp?x=1");
    CHECK(a.authority_with_port() == "example.com:80");
    const url_parts b = url_parts::parse("HTTPS://[2001:DB8::1]:8443");
    CHECK(b.secure);
    CHECK(b.host == "2001:db8::1");
    CHECK(b.origin() == "https://[2001:db8::1]:8443");
    CHECK(b.target == "/");
    CHECK(url_parts::parse("http://a:80/").origin() == "http://a");
    CHECK(url_parts::parse("https://a:443/").origin() == "https://a");
    CHECK(url_parts::parse("https://a:80/").origin() == "https://a:80");
    CHECK(url_parts::parse("http://a:/").port == 80);
    CHECK(url_parts::parse("http://a?q").target == "/?q");
    CHECK(url_parts::parse("http://a#f").target == "/");
    const url_parts c = url_parts::parse("http://user:p%40ss@a/");
    CHECK(c.authorization == "Basic dXNlcjpwQHNz");
    CHECK(c.origin() == "http://a");
    CHECK(url_parts::parse("http://user@a/").authorization == "Basic dXNlcjo=");
}

TEST_CASE("invalid URLs are rejected with the reason, and without the password") {
    CHECK(why_not("ftp://a/") == "invalid URL \"ftp://a/\": it must begin with http:// or https://");
    for (std::string_view bad : {"",
                                 "example.com",
                                 "/mcp",
                                 "http:/a",
                                 "http://",
                                 "http:///x",
                                 "http://:80/",
                                 "http://a b/",
                                 "http://a/b c",
                                 "http://a\r\nb/",
                                 "http://a/\x01",
                                 "http://a/\x7f",
                                 "http://\xc3\xbc/",
                                 "http://a:0/",
                                 "http://a:65536/",
                                 "http://a:-1/",
                                 "http://a:8x/",
                                 "http://::1/",
                                 "http://[::1/",
                                 "http://[::1]x/",
                                 "http://[a]/",
                                 "http://[]/",
                                 "http://a%2fb/",
                                 "http://a\\b/",
                                 "http://<a>/",
                                 "http://user%0a:x@a/",
                                 "http://us%3Aer:x@a/"}) {
        CAPTURE(bad);
        CHECK(!why_not(bad).empty());
    }
    CHECK(why_not("http://user:secret@a:x/").find("secret") == std::string::npos);
    CHECK(why_not("http://user:sec ret@a/").find("ret@") == std::string::npos);
    CHECK(why_not("http://user:se@cret@a:x/").find("cret") == std::string::npos);
    CHECK(why_not("http://user:se/cret@a/").find("se/cret") == std::string::npos);
    CHECK(without_user_info("user:secret@proxy:1") == "proxy:1");
    CHECK(without_user_info("http://a/b@c") == "http://a/b@c");
}

TEST_CASE("loopback") {
    for (std::string_view url : {"http://localhost", "http://LOCALHOST:1", "http://a.localhost", "http://127.0.0.1",
                                 "http://127.8.9.1", "http://[::1]:5", "http://[::ffff:127.0.0.1]"}) {
        CAPTURE(url);
        CHECK(url_parts::parse(url).is_loopback());
    }
    for (std::string_view url :
         {"http://example.com", "http://128.0.0.1", "http://[::2]", "http://localhost.example.com", "http://0.0.0.0"}) {
        CAPTURE(url);
        CHECK(!url_parts::parse(url).is_loopback());
    }
}

TEST_CASE("which redirects are followed") {
    for (int status : {307, 308}) {
        for (std::string_view method : {"GET", "POST", "DELETE", "HEAD"}) CHECK(may_follow(status, method));
    }
    for (int status : {301, 302, 303}) {
        CHECK(may_follow(status, "GET"));
        CHECK(!may_follow(status, "POST"));
        CHECK(!may_follow(status, "DELETE"));
    }
    for (int status : {200, 300, 304, 305, 306, 399, 400}) CHECK(!may_follow(status, "GET"));
}

TEST_CASE("redirect targets") {
    const std::string_view from = "http://a:8080/b/c?d";
    CHECK(followed(from, "/x?y#z") == "http://a:8080/x?y");
    CHECK(followed(from, "x") == "http://a:8080/b/x");
    CHECK(followed(from, "../x/./y") == "http://a:8080/x/y");
    CHECK(followed(from, "../../..") == "http://a:8080/");
    CHECK(followed(from, "?q") == "http://a:8080/b/c?q");
    CHECK(followed(from, "./") == "http://a:8080/b/");
    CHECK(followed(from, "") == "http://a:8080/b/c?d");
    CHECK(followed(from, "http://A:8080/x") == "http://a:8080/x");
    CHECK(followed(from, "//a:8080/x") == "http://a:8080/x");
    CHECK(followed(from, "/x/../../y") == "http://a:8080/y");
    CHECK(followed(from, "x:y/z").empty());
    // To https on the same host, never back.
    CHECK(followed(from, "https://a/x") == "https://a/x");
    CHECK(followed(from, "https://a:8443/x") == "https://a:8443/x");
    CHECK(followed("https://a/", "http://a/").empty());
    // To no other origin.
    CHECK(followed(from, "http://a/x").empty());
    CHECK(followed(from, "http://b:8080/x").empty());
    CHECK(followed(from, "https://b/x").empty());
    CHECK(followed(from, "//b/x").empty());
    CHECK(followed(from, "http://a:8080@evil/").empty());
    CHECK(followed(from, "file:///etc/passwd").empty());
    CHECK(followed(from, "/a b").empty());
    CHECK(followed(from, "/\\evil").empty());
    CHECK(followed(from, "\x01").empty());
    CHECK(redirect_target(url_parts::parse("http://u:p@a/"), "http://x:y@a/z")->authorization.empty());
}

TEST_CASE("credentials are not sent to another origin") {
    header_list headers = {{"AUTHORIZATION", "x"}, {"Accept", "y"}, {"cookie", "z"}};
    CHECK(drop_credentials(headers));
    CHECK(headers == header_list{{"Accept", "y"}});
    CHECK(!drop_credentials(headers));
}

TEST_CASE("the proxy of the environment") {
    CHECK(proxy_of("http://example.com", {}) == "none");
    CHECK(proxy_of("http://example.com", {{"http_proxy", "http://p:3128"}}) == "p:3128");
    CHECK(proxy_of("http://example.com", {{"http_proxy", "p:3128"}}) == "p:3128");
    CHECK(proxy_of("http://example.com", {{"http_proxy", "http://p/"}}) == "p:80");
    CHECK(proxy_of("http://example.com", {{"HTTP_PROXY", "http://p:3128"}}) == "none");  // a header, under CGI
    CHECK(proxy_of("http://example.com", {{"https_proxy", "http://p:3128"}}) == "none");
    CHECK(proxy_of("https://example.com", {{"http_proxy", "http://p:3128"}}) == "none");
    CHECK(proxy_of("https://example.com", {{"https_proxy", "http://p:1"}, {"HTTPS_PROXY", "http://q:1"}}) == "p:1");
    CHECK(proxy_of("https://example.com", {{"HTTPS_PROXY", "http://q:1"}}) == "q:1");
    CHECK(proxy_of("https://example.com", {{"ALL_PROXY", "http://q:1"}}) == "q:1");
    CHECK(proxy_of("http://example.com", {{"http_proxy", ""}, {"all_proxy", "http://q:1"}}) == "q:1");
    CHECK(proxy_of("http://example.com", {{"http_proxy", "http://[::1]:9"}}) == "[::1]:9");
    const std::map<std::string, std::string> all = {{"all_proxy", "http://p:1"}};
    for (std::string_view url : {"http://localhost", "http://127.0.0.1:80", "https://[::1]"})
        CHECK(proxy_of(url, all) == "none");
    CHECK(proxy_of("http://example.com", {{"all_proxy", "http://p:1"}, {"no_proxy", "example.com"}}) == "none");
    CHECK(proxy_of("http://example.com", {{"all_proxy", "http://p:1"}, {"NO_PROXY", "*"}}) == "none");
    // A proxy that the program sets is used for everything.
    CHECK(proxy_of("http://127.0.0.1", all, "http://q:2") == "q:2");
    CHECK(proxy_of("http://example.com", all, "") == "none");
}

TEST_CASE("invalid proxies are rejected, without their password") {
    for (std::string_view bad : {"socks5://p:1", "socks5h://u:secret@p", "https://p:1", "http://", "http://p:x",
                                 "http://u:secret@p:99999", "quic://p"}) {
        CAPTURE(bad);
        try {
            proxy_address::parse(bad);
            FAIL("accepted");
        } catch (const std::invalid_argument& e) {
            CHECK(std::string(e.what()).find("secret") == std::string::npos);
            CHECK(std::string(e.what()).find("invalid proxy") != std::string::npos);
            if (bad.starts_with("socks"))
                CHECK(std::string(e.what()).find("SOCKS is not supported") != std::string::npos);
        }
    }
    CHECK(proxy_address::parse("http://u:p@h:1").authorization == "Basic dTpw");
}

TEST_CASE("no_proxy") {
    CHECK(exempt("http://a.example.com", "x, example.com"));
    CHECK(exempt("http://a.example.com", ".example.com"));
    CHECK(exempt("http://a.example.com", "*.Example.com"));
    CHECK(exempt("http://example.com", ".example.com"));
    CHECK(!exempt("http://badexample.com", "example.com"));
    CHECK(!exempt("http://example.com", "a.example.com"));
    CHECK(!exempt("http://example.com", ""));
    CHECK(!exempt("http://example.com", " , ,"));
    CHECK(exempt("http://example.com:81", "example.com:81"));
    CHECK(!exempt("http://example.com:82", "example.com:81"));
    CHECK(exempt("http://10.1.2.3", "10.0.0.0/8"));
    CHECK(!exempt("http://11.1.2.3", "10.0.0.0/8"));
    CHECK(exempt("http://10.1.2.3", "10.1.2.3"));
    CHECK(exempt("http://10.1.2.3:7", "10.1.2.3:7"));
    CHECK(!exempt("http://10.1.2.3", "2.3"));
    CHECK(exempt("http://[2001:db8::5]", "2001:DB8::/32"));
    CHECK(exempt("http://[2001:db8::5]", "2001:db8:0::5"));
    CHECK(exempt("http://[2001:db8::5]:80", "[2001:db8::5]:80"));
    CHECK(!exempt("http://[2001:db8::5]", "10.0.0.0/8"));
    CHECK(!exempt("http://10.1.2.3", "10.0.0.0/33"));
    CHECK(exempt("http://10.1.2.3", "0.0.0.0/0"));
    CHECK(!exempt("http://a", "[a"));
}
