#include "http/admission.hpp"

#include "http/http_connection.hpp"
#include "http/http_server_core.hpp"
#include "http/request_view.hpp"
#include "http/router.hpp"
#include "http/unavailable.hpp"
#include "http_common/forwarded.hpp"
#include "http_common/media_type.hpp"
#include "http_common/tokens.hpp"
#include "rpc/message.hpp"

#include <keel/error.hpp>

namespace keel::inline KEEL_ABI::http {

namespace {

using answer_form = http_options::answer_form;

/// Always returns false, for `return deny(...)`.
bool deny(http_connection& c, int status, std::string_view message, std::string_view headers = {}) {
    std::string text;
    rpc::write_error(text, {}, {error_code::invalid_request, std::string(message), {}});
    c.respond(status, json_type, text, headers);
    return false;
}

bool deny_method(http_connection& c, std::string_view allowed) {
    return deny(c, 405, "method not allowed", "Allow: " + std::string(allowed) + "\r\n");
}

// Two values of these would let a proxy and this server see different requests.
bool has_single_values(http_connection& c, const request& r) {
    constexpr std::pair<known, const char*> single[] = {
        {known::origin, "duplicate Origin header"},
        {known::authorization, "duplicate Authorization header"},
        {known::content_type, "duplicate Content-Type header"},
        {known::mcp_session_id, "duplicate Mcp-Session-Id header"},
        {known::last_event_id, "duplicate Last-Event-ID header"},
    };
    for (const auto& [header, problem] : single) {
        if (r.count(header) > 1) return deny(c, 400, problem);
    }
    return true;
}

/// Load balancers use any Host for these pages.
bool is_probe(const http_options& o, const request& r) {
    return (!o.health_path.empty() && r.path == o.health_path) || (!o.ready_path.empty() && r.path == o.ready_path);
}

bool check_origin(http_connection& c, const request& r) {
    http_server_core& all = c.worker().shared;
    const http_options& o = all.options;
    std::string_view origin = r.get(known::origin);
    if (c.monitor()) return true;
    bool as_before = !origin.data() && !r.host.empty() && r.host == c.trusted_host();
    auto verdict = as_before ? origin_check::verdict::fine : all.origins.check(r.host, origin);
    if (verdict == origin_check::verdict::fine && !as_before && !origin.data()) c.trusted_host() = r.host;
    if (verdict != origin_check::verdict::fine && !is_probe(o, r)) {
        return deny(c, origin_check::status_of(verdict),
                    verdict == origin_check::verdict::bad_origin
                        ? "Origin not allowed: add it to http_options::allow_origins or use --allow-origin"
                        : "Host not allowed: add it to http_options::allow_hosts or use --allow-host");
    }
    if (!origin.data() || o.allow_origins.empty()) return true;
    if (r.method == "OPTIONS") {
        std::string lines;
        all.origins.append_preflight(lines, origin, r.find("access-control-request-headers"));
        c.respond(204, {}, {}, lines);
        return false;
    }
    all.origins.append_cors(c.common_headers(), origin);
    return true;
}

bool authenticate(http_connection& c, const request& r) {
    const auto& hook = c.worker().shared.options.identify;
    if (!hook) return true;
    auto name = hook(request_view(r, {}, c.client()));
    if (!name) return deny(c, 401, "authentication required", "WWW-Authenticate: Bearer\r\n");
    c.admitted().principal = std::make_shared<const std::string>(std::move(*name));
    return true;
}

/// Always returns false.
bool put_off(http_connection& c, const unavailable& why) {
    std::string text;
    rpc::write_error(text, {}, why.error);
    c.respond(why.status, json_type, text, why.headers);
    return false;
}

/// Authentication and the quota on connections of the client.
bool admit_client(http_connection& c, const request& r) {
    return authenticate(c, r) && (c.count_for_client() || put_off(c, too_many_connections_of_client()));
}

bool check_body_type(http_connection& c, const request& r) {
    if (!is_json_type(r.get(known::content_type))) return deny(c, 415, "Content-Type must be application/json");
    const std::string_view coding = r.get(known::content_encoding);
    if (coding.data() && (r.count(known::content_encoding) > 1 || !same_ignoring_case(coding, "identity"))) {
        return deny(c, 415, "Content-Encoding is not supported: send the body without compression");
    }
    return true;
}

/// HTTP-05: clients must accept both types, because the server chooses.
bool check_accept(http_connection& c, const request& r) {
    accepted_types accept = read_accept(r.headers);
    bool json_only = c.worker().shared.options.answers == answer_form::json;
    if (accept.json && (accept.event_stream || json_only)) return true;
    return deny(c, 406, "Accept must list application/json and text/event-stream");
}

// A body that is not here yet is refused while memory is short. One that has arrived needs no more memory; the router decides.
bool has_room_for_body(http_connection& c, const request& r) {
    if (!r.has_body || r.body.data() || !c.worker().shared.budget.tight()) return true;
    return put_off(c, low_memory());
}

bool admit_to_protocol(http_connection& c, const request& r) {
    if (!admit_client(c, r)) return false;
    if (r.method == "POST") return check_accept(c, r) && check_body_type(c, r) && has_room_for_body(c, r);
    const bool stateless = c.worker().shared.options.stateless;
    if (stateless || (r.method != "GET" && r.method != "DELETE")) {  // I13
        return deny_method(c, stateless ? "POST" : "GET, POST, DELETE");
    }
    return true;
}

}  // namespace

bool admit(http_connection& c, const request& r) {
    const http_options& o = c.worker().shared.options;
    c.admitted().client = client_address(c.peer(), r.headers, c.worker().shared.proxies);
    if (!has_single_values(c, r) || !check_origin(c, r)) return false;
    if (is_monitor_page(c, r)) return !o.identify_monitor || authenticate(c, r);
    if (c.monitor()) return deny(c, 404, "not found: this address serves only the pages for monitoring");
    if (r.path == o.path) return admit_to_protocol(c, r);
    if (o.old_sse && r.path == o.sse_path) {
        return r.method == "GET" ? admit_client(c, r) : deny_method(c, "GET");
    }
    if (o.old_sse && r.path == o.message_path) {
        return r.method == "POST" ? admit_client(c, r) && check_body_type(c, r) : deny_method(c, "POST");
    }
    return true;
}

bool needs_no_body(const http_connection& c, const request& r) {
    const http_options& o = c.worker().shared.options;
    if (is_monitor_page(c, r)) return true;
    if (r.path == o.path || (o.old_sse && (r.path == o.sse_path || r.path == o.message_path))) return false;
    return !o.route;
}

}  // namespace keel::http
