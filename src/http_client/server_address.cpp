#include "http_client/server_address.hpp"

#include "http_common/tokens.hpp"
#include "rpc/message.hpp"

#include <array>
#include <utility>

namespace keel::inline KEEL_ABI::http_client {

namespace {

// Headers that the HTTP client sets itself. A second value for framing or connection headers would allow request smuggling.
constexpr std::array<std::string_view, 10> ours = {
    "host",    "content-length", "connection",       "transfer-encoding",   "te",
    "trailer", "upgrade",        "proxy-connection", "proxy-authorization", "expect",
};

void append_header(std::string& out, std::string_view name, std::string_view value) {
    out.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

server_address::server_address(protocol::url_parts to, std::optional<proxy_address> through,
                               std::shared_ptr<const tls::tls_client_context> context)
    : at(std::move(to)), proxy(std::move(through)), tls(std::move(context)),
      after_path(" HTTP/1.1\r\nHost: " + at.authority() + "\r\n") {
    if (!proxy || at.secure) return;
    before_path = at.origin();
    if (!proxy->authorization.empty()) append_header(after_path, "Proxy-Authorization", proxy->authorization);
}

std::string check_request(const transfer_request& what) {
    if (!http::is_token(what.method) || what.method == "CONNECT")
        return "invalid HTTP method \"" + rpc::printable(what.method, 80) + "\"";
    if (!what.path.starts_with('/') || !protocol::is_request_target(what.path) ||
        what.path.find('#') != what.path.npos) {
        return "invalid request path: it must begin with / and contain only visible ASCII characters";
    }
    for (const auto& [name, value] : what.headers) {
        if (!http::is_token(name)) return "invalid header name \"" + rpc::printable(name, 80) + "\"";
        if (!http::is_field_text(value))
            return "invalid value of the header " + name + ": it contains control characters";
        for (std::string_view each : ours) {
            if (http::same_ignoring_case(name, each))
                return "the header " + name + " cannot be set: the HTTP client sets it";
        }
    }
    return {};
}

void append_request_head(std::string& out, const transfer_request& what, const server_address& to,
                         std::size_t body_size) {
    out.append(what.method).append(" ").append(to.before_path).append(what.path).append(to.after_path);
    bool authorized = to.at.authorization.empty();
    for (const auto& [name, value] : what.headers) {
        if (http::same_ignoring_case(name, "authorization")) authorized = true;
        append_header(out, name, value);
    }
    if (!authorized) append_header(out, "Authorization", to.at.authorization);
    if (body_size > 0 || what.method == "POST" || what.method == "PUT" || what.method == "PATCH") {
        append_header(out, "Content-Length", std::to_string(body_size));
    }
    out += "\r\n";
}

std::string connect_request(const server_address& to) {
    const std::string authority = to.at.authority_with_port();
    std::string out = "CONNECT " + authority + " HTTP/1.1\r\n";
    append_header(out, "Host", authority);
    if (!to.proxy->authorization.empty()) append_header(out, "Proxy-Authorization", to.proxy->authorization);
    out += "\r\n";
    return out;
}

}  // namespace keel::http_client
