// The requests of the HTTP load generator: prebuilt texts in which only a few digits change per call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bench {

/// modern: 2026-07-28, without sessions. legacy: 2025-11-25 in a session.
enum class revision { modern, legacy };

struct target {
    std::string host;  // value of the Host header
    std::string path;
};

// Ids have a constant width, so that every request of a kind has the same length.
constexpr std::int64_t first_id = 100'000'000;
constexpr std::size_t id_width = 9;
constexpr std::string_view text_prefix = "payload";
static_assert(text_prefix.size() + id_width == 16);

constexpr std::string_view modern_meta = R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                                         R"("io.modelcontextprotocol/clientInfo":{"name":"http_load","version":"1.0"},)"
                                         R"("io.modelcontextprotocol/clientCapabilities":{}})";

constexpr std::string_view initialize_body =
    R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},)"
    R"("clientInfo":{"name":"http_load","version":"1.0"}}})";
constexpr std::string_view initialized_body = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";

inline void put_digits(char* to, std::int64_t value) {
    for (std::size_t i = id_width; i-- > 0;) {
        to[i] = static_cast<char>('0' + value % 10);
        value /= 10;
    }
}

/// `headers` are additional lines, each with its line end.
inline std::string post(const target& to, const std::string& headers, std::string_view body) {
    std::string out = "POST " + to.path + " HTTP/1.1\r\nHost: " + to.host + "\r\n";
    out += "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
    out += headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
    out += body;
    return out;
}

inline std::string session_headers(const std::string& session) {
    const std::string version = "MCP-Protocol-Version: 2025-11-25\r\n";
    return session.empty() ? version : version + "Mcp-Session-Id: " + session + "\r\n";
}

inline std::string modern_headers(const std::string& method) {
    return "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " + method + "\r\n";
}

/// A call of `echo` with sixteen bytes of text.
class call_template {
public:
    call_template(const target& to, revision speaks, const std::string& session) {
        const std::string digits(id_width, '0');
        std::string body = R"({"jsonrpc":"2.0","id":)" + digits;
        const auto id_end = body.size();
        body += R"(,"method":"tools/call","params":{"name":"echo","arguments":{"text":")";
        body += std::string(text_prefix) + digits;
        const auto text_end = body.size();
        body += "\"}";
        if (speaks == revision::modern) body += "," + std::string(modern_meta);
        body += "}}";
        const auto headers =
            speaks == revision::modern ? modern_headers("tools/call") + "Mcp-Name: echo\r\n" : session_headers(session);
        text_ = post(to, headers, body);
        const auto head = text_.size() - body.size();
        id_at_ = head + id_end - id_width;
        text_at_ = head + text_end - id_width;
    }

    /// The request with this id. The view is valid until the next call.
    std::string_view with_id(std::int64_t id) {
        put_digits(text_.data() + id_at_, id);
        put_digits(text_.data() + text_at_, id);
        return text_;
    }

private:
    std::string text_;
    std::size_t id_at_ = 0;
    std::size_t text_at_ = 0;
};

inline std::string listen_request(const target& to, std::int64_t id) {
    const auto body = R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
                      R"(,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},)" +
                      std::string(modern_meta) + "}}";
    return post(to, modern_headers("subscriptions/listen"), body);
}

}  // namespace bench
