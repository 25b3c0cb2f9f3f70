#pragma once

// HTTP requests as clients of both eras send them.

#include "support/tap.hpp"

#include <keel/json.hpp>

#include <string>
#include <string_view>

namespace keel::test {

inline std::string http_post(std::string_view body, std::string_view headers = "") {
    return "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json, text/event-stream\r\n"
           "Content-Type: application/json\r\n" +
           std::string(headers) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

/// 2026-07-28, with every header that mirrors the body.
inline std::string modern_post(std::string_view body) {
    json::value m = json::parse(body);
    std::string headers =
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " + std::string(m["method"].as_string()) + "\r\n";
    const json::value& params = m["params"];
    for (const char* key : {"name", "uri"}) {
        if (auto name = params[key].if_string()) headers += "Mcp-Name: " + std::string(*name) + "\r\n";
    }
    return http_post(body, headers);
}
inline std::string modern_call(std::string_view id, std::string_view tool, std::string_view arguments = "{}",
                               std::string_view token = "") {
    return modern_post(modern_call_line(id, tool, arguments, token));
}
inline std::string modern_listen(std::string_view id, std::string_view filter) {
    return modern_post(modern_line(id, "subscriptions/listen", R"("notifications":)" + std::string(filter)));
}

inline std::string initialize_body(std::string_view version, std::string_view capabilities = R"({"roots":{}})") {
    return request_line("\"init\"", "initialize",
                        R"({"protocolVersion":")" + std::string(version) + R"(","capabilities":)" +
                            std::string(capabilities) + R"(,"clientInfo":{"name":"tester","version":"0"}})");
}

/// An open session of a client of an older revision.
struct http_session {
    std::string id;
    std::string version;

    std::string headers() const {
        std::string out = "Mcp-Session-Id: " + id + "\r\n";
        if (version >= "2025-06-18") out += "MCP-Protocol-Version: " + version + "\r\n";
        return out;
    }
    std::string post(std::string_view body) const { return http_post(body, headers()); }
    std::string call(std::string_view rpc_id, std::string_view tool, std::string_view arguments = "{}",
                     std::string_view token = "") const {
        return post(call_line(rpc_id, tool, arguments, token));
    }
    std::string get(std::string_view last_event = "") const {
        std::string out = "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n" + headers();
        if (!last_event.empty()) out += "Last-Event-ID: " + std::string(last_event) + "\r\n";
        return out + "\r\n";
    }
    std::string end() const { return "DELETE /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n" + headers() + "\r\n"; }
};

}  // namespace keel::test
