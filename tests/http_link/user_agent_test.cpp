#include "http_client/http_link_headers.hpp"

#include <keel/version.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace keel::http_client;

TEST_CASE("User-Agent has the name and version of the client, then those of Keel") {
    const std::string keel = "keel/" KEEL_VERSION;
    CHECK(user_agent("my-host", "1.2") == "my-host/1.2 " + keel);
    CHECK(user_agent("my-host", "") == "my-host " + keel);
    CHECK(user_agent("", "1.2") == keel);
    CHECK(user_agent("My Host\r\nX: y", "1.0 (beta)") == "My-Host--X--y/1.0--beta- " + keel);
    CHECK(user_agent(std::string(1000, 'x'), "1").size() < 100);
}

TEST_CASE("a header of the caller replaces a default header, in any case") {
    header_list none;
    add_default_header(none, "User-Agent", "default");
    CHECK(none == header_list{{"User-Agent", "default"}});
    header_list own = {{"USER-AGENT", "mine"}};
    add_default_header(own, "User-Agent", "default");
    CHECK(own == header_list{{"USER-AGENT", "mine"}});
}
