// A URL as the target of a client.

#include "client/engine.hpp"
#include "client/link.hpp"
#include "link_under_test.hpp"

#include <keel/server_target.hpp>

#include <stdexcept>

using namespace keel;
using namespace keel::test;

TEST_CASE("LHTTP-12: a URL is shown without its password and query, and identified by its origin") {
    url where;
    where.address = "HTTPS://user:secret@Example.com:443/mcp?token=secret#x";
    server_target target(where);
    CHECK(target.describe().find("secret") == std::string::npos);
    CHECK(target.describe().ends_with("/mcp"));
    CHECK(target.identity() == "https://example.com");
}

TEST_CASE("an invalid URL or header is reported when connecting") {
    url no_address;
    no_address.address = "ftp://example.com/";
    url bad_header;
    bad_header.address = "http://127.0.0.1:9/mcp";
    bad_header.headers = {{"X-A", "b\r\nc"}};
    for (const url& where : {no_address, bad_header}) {
        auto loop = std::make_shared<manual_loop>();
        server_target target(where);
        CHECK_FALSE(target.identity().empty());
        auto connector = client_access::connector_of(target);
        CHECK(connector->is_http());
        detail::activity line(*loop);
        bool refused = false;
        detail::start(line, connector->connect(loop, {}), [&](detail::outcome<std::unique_ptr<client_side::link>> o) {
            REQUIRE(o.index() == 0);
            CHECK_THROWS_AS(std::rethrow_exception(std::get<0>(o)), std::invalid_argument);
            refused = true;
        });
        CHECK(refused);
    }
}
