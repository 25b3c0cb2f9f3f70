#include "auth/metadata.hpp"
#include "auth/well_known.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace keel;
using namespace keel::auth;

namespace {

std::string refusal(std::string_view text, std::string_view issuer = "https://as", bool loopback = false) {
    std::string problem;
    CHECK(!server_metadata::parse(text, issuer, loopback, problem));
    return problem;
}

}  // namespace

TEST_CASE("AUC-08: the canonical resource of a server URL") {
    CHECK(canonical_resource("HTTPS://MCP.Example.com:443/Mcp?x=1#f") == "https://mcp.example.com/Mcp?x=1");
    CHECK(canonical_resource("https://mcp.example.com/") == "https://mcp.example.com");
    CHECK(canonical_resource("https://mcp.example.com/mcp/") == "https://mcp.example.com/mcp/");
    CHECK(canonical_resource("http://[::1]:8848/mcp") == "http://[::1]:8848/mcp");
    CHECK_THROWS(canonical_resource("ftp://x"));
}

TEST_CASE("AUC-01: the resource of the metadata must be the server or a parent of it") {
    const std::string server = "https://mcp.example.com/tenant/mcp";
    for (std::string_view same :
         {"https://mcp.example.com/tenant/mcp", "https://mcp.example.com/tenant/mcp/", "https://mcp.example.com/tenant",
          "https://mcp.example.com", "https://mcp.example.com/", "https://MCP.example.com:443/tenant"}) {
        CAPTURE(same);
        CHECK(resource_matches(same, server));
    }
    for (std::string_view other :
         {"https://mcp.example.com/tenant/mcp2", "https://mcp.example.com/ten", "https://mcp.example.com/other",
          "https://evil.example/tenant/mcp", "http://mcp.example.com/tenant/mcp",
          "https://mcp.example.com:8443/tenant/mcp", "https://u@mcp.example.com/tenant/mcp",
          "https://mcp.example.com/tenant/mcp#x", "", "mcp.example.com"}) {
        CAPTURE(other);
        CHECK(!resource_matches(other, server));
    }
}

TEST_CASE("AUC-02: protected resource metadata is looked for with the path, then without") {
    CHECK(resource_metadata_urls("https://x:8443/tenant/mcp?a=1") ==
          std::vector<std::string>{"https://x:8443/.well-known/oauth-protected-resource/tenant/mcp",
                                   "https://x:8443/.well-known/oauth-protected-resource"});
    CHECK(resource_metadata_urls("https://x/") ==
          std::vector<std::string>{"https://x/.well-known/oauth-protected-resource"});
}

TEST_CASE("AUC-04: authorization server metadata is looked for in the order of the specification") {
    CHECK(server_metadata_urls("https://as/tenant") ==
          std::vector<std::string>{"https://as/.well-known/oauth-authorization-server/tenant",
                                   "https://as/.well-known/openid-configuration/tenant",
                                   "https://as/tenant/.well-known/openid-configuration"});
    CHECK(server_metadata_urls("https://as/") ==
          std::vector<std::string>{"https://as/.well-known/oauth-authorization-server",
                                   "https://as/.well-known/openid-configuration"});
}

TEST_CASE("SEC-08: an endpoint is https, or http on loopback if the server is on loopback") {
    CHECK(is_secure_endpoint("https://as/token", false));
    CHECK(is_secure_endpoint("http://127.0.0.1:1/token", true));
    CHECK(is_secure_endpoint("http://localhost/token", true));
    for (std::string_view bad :
         {"http://127.0.0.1:1/token", "http://as/token", "javascript:alert(1)", "file:///etc/passwd",
          "https://u:p@as/token", "https://as/token#x", "", "/token", "https://as\n/"}) {
        CAPTURE(bad);
        CHECK(!is_secure_endpoint(bad, false));
    }
    CHECK(!is_secure_endpoint("http://as/token", true));
}

TEST_CASE("AUC-01: protected resource metadata is read, with bounds") {
    std::string problem;
    const auto m = resource_metadata::parse(
        R"({"resource":"https://x/mcp","authorization_servers":["https://as"],"scopes_supported":["a","b c","d"],"dpop_bound_access_tokens_required":true,"new":1})",
        problem);
    REQUIRE_MESSAGE(m, problem);
    CHECK(m->resource == "https://x/mcp");
    CHECK(m->authorization_servers == std::vector<std::string>{"https://as"});
    CHECK(m->scopes_supported.text() == "a d");
    CHECK(m->requires_dpop);
    std::string many = R"({"resource":"r","authorization_servers":[)";
    for (int i = 0; i < 100; ++i) many += i == 0 ? "\"a\"" : ",\"a\"";
    CHECK(resource_metadata::parse(many + "]}", problem)->authorization_servers.size() ==
          resource_metadata::max_authorization_servers);
}

TEST_CASE("AUC-01: documents that are not protected resource metadata are refused") {
    const std::pair<std::string_view, std::string_view> bad[] = {
        {"<html>", "not a JSON object"},
        {"[]", "not a JSON object"},
        {"{}", "resource is missing"},
        {R"({"resource":"r"})", "authorization_servers is missing"},
        {R"({"resource":"r","authorization_servers":[]})", "authorization_servers is missing"},
        {R"({"resource":1,"authorization_servers":["a"]})", "resource is not a string"},
        {R"({"resource":"r","authorization_servers":"a"})", "authorization_servers is not a list of strings"},
        {R"({"resource":"r","authorization_servers":[1]})", "authorization_servers is not a list of strings"},
    };
    for (const auto& [text, expected] : bad) {
        CAPTURE(text);
        std::string problem;
        CHECK(!resource_metadata::parse(text, problem));
        CHECK(problem == expected);
    }
    std::string problem;
    CHECK(!resource_metadata::parse(std::string(100, '[') + std::string(100, ']'), problem));
}

TEST_CASE("AUS-01: a server's protected resource metadata is read back as it was written") {
    resource_metadata m{
        .resource = "https://x/mcp", .authorization_servers = {"https://as"}, .scopes_supported = {"a"}};
    std::string text;
    REQUIRE(json::write(text, m.write()));
    CHECK(
        text ==
        R"({"resource":"https://x/mcp","authorization_servers":["https://as"],"bearer_methods_supported":["header"],"scopes_supported":["a"]})");
    std::string problem;
    CHECK(resource_metadata::parse(text, problem)->resource == m.resource);
}

TEST_CASE("AUC-04: authorization server metadata is read") {
    std::string problem;
    const auto m = server_metadata::parse(
        R"({"issuer":"https://as","authorization_endpoint":"https://as/a","token_endpoint":"https://as/t","registration_endpoint":"https://as/r","code_challenge_methods_supported":["plain","S256"],"token_endpoint_auth_methods_supported":["none"],"authorization_response_iss_parameter_supported":true,"client_id_metadata_document_supported":true,"scopes_supported":["offline_access"]})",
        "https://as", false, problem);
    REQUIRE_MESSAGE(m, problem);
    CHECK(m->authorization_endpoint == "https://as/a");
    CHECK(m->token_endpoint == "https://as/t");
    CHECK(m->registration_endpoint == "https://as/r");
    CHECK(m->supports_s256());
    CHECK(m->sends_issuer);
    CHECK(m->reads_client_documents);
    CHECK(m->scopes_supported.contains("offline_access"));
}

TEST_CASE("AUC-05: metadata of another issuer is refused, byte by byte") {
    CHECK(refusal(R"({"issuer":"https://as/"})") == R"(issuer is "https://as/", but "https://as" was expected)");
    CHECK(refusal(R"({"issuer":"https://AS"})") == R"(issuer is "https://AS", but "https://as" was expected)");
    CHECK(refusal("{}") == R"(issuer is "", but "https://as" was expected)");
}

TEST_CASE("AUC-07: S256 must be listed") {
    std::string problem;
    for (std::string_view text : {R"({"issuer":"i"})", R"({"issuer":"i","code_challenge_methods_supported":[]})",
                                  R"({"issuer":"i","code_challenge_methods_supported":["plain","s256"]})"}) {
        CAPTURE(text);
        const auto m = server_metadata::parse(text, "i", false, problem);
        REQUIRE(m);
        CHECK(!m->supports_s256());
    }
}

TEST_CASE("SEC-08: metadata with an endpoint that is not https is refused") {
    CHECK(refusal(R"({"issuer":"https://as","token_endpoint":"http://as/t"})") == "token_endpoint is not an https URL");
    CHECK(refusal(R"_({"issuer":"https://as","authorization_endpoint":"javascript:alert(1)"})_") ==
          "authorization_endpoint is not an https URL");
    CHECK(refusal(R"({"issuer":"https://as","jwks_uri":"http://169.254.169.254/"})", "https://as", true) ==
          "jwks_uri is not an https URL or a loopback URL");
    CHECK(refusal(R"({"issuer":"https://as","token_endpoint":1})") == "token_endpoint is not a string");
    CHECK(refusal(R"({"issuer":"https://as","scopes_supported":"a"})") == "scopes_supported is not a list of strings");
    CHECK(refusal(R"({"issuer":"https://as","client_id_metadata_document_supported":"yes"})") ==
          "client_id_metadata_document_supported is not true or false");
}

TEST_CASE("AUC-16: client id URLs and documents") {
    CHECK(is_client_id_url("https://app.example/client.json"));
    for (std::string_view bad : {"http://app.example/client.json", "https://app.example", "https://app.example/",
                                 "https://app.example/a/../client.json", "https://app.example/./c",
                                 "https://u@app.example/c", "https://app.example/c#x", "client.json", ""}) {
        CAPTURE(bad);
        CHECK(!is_client_id_url(bad));
    }
    const client_metadata m{.client_id = "https://app.example/client.json",
                            .client_name = "App",
                            .redirect_uris = {"http://127.0.0.1/callback"}};
    const json::value out = m.write();
    CHECK(out["client_id"] == "https://app.example/client.json");
    CHECK(out["client_name"] == "App");
    CHECK(out["redirect_uris"].size() == 1);
}

TEST_CASE("AUC-17: the application type follows from the redirect URIs") {
    CHECK(application_type({"http://127.0.0.1:1/callback", "http://localhost/callback"}) == "native");
    CHECK(application_type({"com.example.app:/callback"}) == "native");
    CHECK(application_type({"https://app.example/callback"}) == "web");
    CHECK(client_metadata{.redirect_uris = {"https://app.example/cb"}}.write()["application_type"] == "web");
    CHECK(!client_metadata{}.write().contains("client_id"));
}
