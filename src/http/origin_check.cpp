#include "http/origin_check.hpp"

#include "http/response_head.hpp"
#include "http_common/tokens.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace keel::inline KEEL_ABI::http {

namespace {

std::string lowered(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), lower);
    return out;
}

bool is_alphanumeric(char c) noexcept { return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z'); }

bool is_loopback_name(std::string_view name) noexcept {
    return name == "localhost" || name == "127.0.0.1" || name == "[::1]";
}

bool read_port(std::string_view text, int& port) noexcept {
    if (text.empty() || text.size() > 5) return false;
    port = 0;
    for (char c : text) {
        if (c < '0' || c > '9') return false;
        port = port * 10 + (c - '0');
    }
    return port <= 65535;
}

/// The headers of MCP clients. Tool parameters may be mirrored in any header that begins with Mcp-Param-.
bool may_be_sent(std::string_view lower_case_name) noexcept {
    constexpr std::string_view known[] = {
        "accept",         "authorization", "content-type",         "last-event-id", "mcp-method", "mcp-name",
        "mcp-session-id", "traceparent",   "mcp-protocol-version", "tracestate",    "baggage"};
    const bool token = std::all_of(lower_case_name.begin(), lower_case_name.end(), [](char c) {
        return is_alphanumeric(c) ||
               (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
    });
    return token && (lower_case_name.starts_with("mcp-param-") ||
                     std::find(std::begin(known), std::end(known), lower_case_name) != std::end(known));
}

}  // namespace

bool origin_check::read_authority(std::string_view text, authority& out) {
    out = {};
    std::string_view name = text;
    std::string_view rest;
    if (text.starts_with('[')) {
        const std::size_t close = text.find(']');
        if (close == std::string_view::npos || close < 3) return false;
        name = text.substr(0, close + 1);
        rest = text.substr(close + 1);
        for (char c : name.substr(1, close - 1)) {
            if (c != ':' && c != '.' && !(c >= '0' && c <= '9') && !(lower(c) >= 'a' && lower(c) <= 'f')) return false;
        }
    } else {
        const std::size_t colon = std::min(text.find(':'), text.size());
        name = text.substr(0, colon);
        rest = text.substr(colon);
        if (name.ends_with('.')) name.remove_suffix(1);  // "localhost." equals "localhost"
        if (name.empty() || name.ends_with('.') || name.starts_with('.')) return false;
        for (char c : name) {
            if (!is_alphanumeric(c) && c != '-' && c != '.' && c != '_') return false;
        }
    }
    out.name = lowered(name);
    return rest.empty() || (rest.starts_with(':') && read_port(rest.substr(1), out.port));
}

/// As browsers write it: scheme, host and port without a trailing slash.
bool origin_check::read_origin(std::string_view text, page& out) {
    const std::size_t end = text.find("://");
    if (end == std::string_view::npos) return false;
    const std::string scheme = lowered(text.substr(0, end));
    if (scheme != "http" && scheme != "https") return false;
    out.secure = scheme == "https";
    return read_authority(text.substr(end + 3), out.at);
}

int origin_check::port_of(const page& p) noexcept {
    if (p.at.port >= 0) return p.at.port;
    return p.secure ? 443 : 80;
}

origin_check::origin_check(origin_rules rules) : rules_(std::move(rules)) {
    for (const std::string& each : rules_.hosts) {
        if (each == "*") {
            any_host_ = true;
            continue;
        }
        authority a;
        if (!read_authority(each, a))
            throw std::invalid_argument("keel: allow_hosts: invalid host name: \"" + each + "\"");
        hosts_.push_back(std::move(a));
    }
    for (const std::string& each : rules_.origins) {
        if (each == "*") {
            any_origin_ = true;
            continue;
        }
        if (each == "null") {
            null_origin_ = true;
            continue;
        }
        page p;
        if (!read_origin(each, p))
            throw std::invalid_argument("keel: allow_origins: invalid origin: \"" + each +
                                        "\" (use https://host or https://host:port)");
        pages_.push_back(std::move(p));
    }
}

bool origin_check::host_allowed(const authority& host) const {
    if (any_host_ || (rules_.loopback && is_loopback_name(host.name))) return true;
    return std::any_of(hosts_.begin(), hosts_.end(), [&](const authority& each) {
        return each.name == host.name && (each.port < 0 || each.port == host.port);
    });
}

/// Allowed by `origins`, as opposed to an origin that equals Host.
bool origin_check::listed(std::string_view origin) const {
    if (any_origin_) return true;
    if (origin == "null") return null_origin_;
    page p;
    if (!read_origin(origin, p)) return false;
    return std::any_of(pages_.begin(), pages_.end(), [&](const page& each) {
        return each.secure == p.secure && each.at.name == p.at.name && port_of(each) == port_of(p);
    });
}

origin_check::verdict origin_check::check(const request& r) const {
    // Several Origin headers cannot be checked.
    if (r.count("origin") > 1) return verdict::bad_origin;
    return check(r.host, r.find("origin"));
}

origin_check::verdict origin_check::check(std::string_view host, std::string_view origin) const {
    authority called;
    const bool has_host = host.data() != nullptr;
    // HTTP/1.0 clients may omit Host. That is accepted only where Host is not checked.
    const bool host_is_fine = has_host ? read_authority(host, called) && host_allowed(called) : any_host_;
    // Origin first: if both are wrong, the status must be 403.
    if (origin.data() != nullptr && !listed(origin)) {
        page p;
        if (!read_origin(origin, p)) return verdict::bad_origin;
        // The page's own host. The scheme is not compared: behind a proxy it is unknown.
        const int port = called.port >= 0 ? called.port : (p.secure ? 443 : 80);
        const bool own = has_host && host_is_fine && p.at.name == called.name && port_of(p) == port;
        if (!own && !(rules_.loopback && is_loopback_name(p.at.name))) return verdict::bad_origin;
    }
    return host_is_fine ? verdict::fine : verdict::bad_host;
}

int origin_check::status_of(verdict v) noexcept {
    switch (v) {
        case verdict::fine: return 0;
        case verdict::bad_origin: return 403;
        case verdict::bad_host: return 421;
    }
    return 0;
}

void origin_check::append_cors(std::string& out, std::string_view origin) const {
    if (!rules_.cors) return;
    // Also without CORS headers, the response depends on Origin: caches must not reuse it for another origin.
    if (!any_origin_) out.append("Vary: Origin\r\n");
    if (origin.data() == nullptr || !listed(origin)) return;
    add_header(out, "Access-Control-Allow-Origin", any_origin_ ? std::string_view("*") : origin);
    out.append("Access-Control-Expose-Headers: Mcp-Session-Id, WWW-Authenticate\r\n");
}

void origin_check::append_preflight(std::string& out, std::string_view origin, std::string_view wanted) const {
    append_cors(out, origin);
    if (!rules_.cors || origin.data() == nullptr || !listed(origin)) return;
    out.append("Access-Control-Allow-Methods: GET, POST, DELETE\r\nAccess-Control-Max-Age: 600\r\n");
    std::string names;
    while (!wanted.empty()) {
        const std::size_t comma = std::min(wanted.find(','), wanted.size());
        std::string name = lowered(wanted.substr(0, comma));
        wanted.remove_prefix(std::min(comma + 1, wanted.size()));
        name.erase(0, name.find_first_not_of(" \t"));
        name.erase(name.find_last_not_of(" \t") + 1);
        if (!may_be_sent(name)) continue;
        if (!names.empty()) names.append(", ");
        names.append(name);
    }
    if (!names.empty()) add_header(out, "Access-Control-Allow-Headers", names);
}

}  // namespace keel::http
