#include "http/router.hpp"

#include "http/http_connection.hpp"
#include "http/http_server_core.hpp"
#include "http/legacy_request.hpp"
#include "http/media_type.hpp"
#include "http/response_head.hpp"
#include "http/stateless_handler.hpp"
#include "http/unavailable.hpp"
#include "protocol/mirrored_headers.hpp"
#include "rpc/message.hpp"

#include <keel/error.hpp>

// The checks are in the order of the specification's error cases: Origin and Host, authentication, HTTP method, media types, JSON,
// protocol revision, and then the rules of that revision.

namespace keel::inline KEEL_ABI::http {

namespace {

using answer_form = http_options::answer_form;

void refuse(http_connection& c, int status, int code, std::string_view message, const rpc::request_id& id = {},
            std::string_view headers = {}, json::value data = {}) {
    std::string text;
    rpc::write_error(text, id, {code, std::string(message), std::move(data)});
    c.respond(status, json_type, text, headers);
}

void refuse(http_connection& c, const unavailable& why, const rpc::request_id& id = {}) {
    refuse(c, why.status, why.error.code, why.error.message, id, why.headers, why.error.data);
}

/// The sender of a request. Without an `identify` hook there is no principal; a session then belongs to the Authorization header
/// that created it.
struct identity {
    std::shared_ptr<const std::string> principal;  // null: there is no hook
    std::string_view credential;
};

/// The request as passed to the application's hooks.
class request_view final : public http_request {
public:
    explicit request_view(const request& r) noexcept : r_(r) {}
    ~request_view() = default;
    std::string_view method() const noexcept override { return r_.method; }
    std::string_view path() const noexcept override { return r_.path; }
    std::string_view query() const noexcept override { return r_.query; }
    std::string_view body() const noexcept override { return r_.body; }
    std::optional<std::string_view> header(std::string_view name) const override {
        std::string lower(name);
        for (char& ch : lower) ch = ch >= 'A' && ch <= 'Z' ? static_cast<char>(ch - 'A' + 'a') : ch;
        std::string_view value = r_.find(lower);
        return value.data() ? std::optional(value) : std::nullopt;
    }

private:
    const request& r_;
};

bool identify(http_connection& c, const request& r, identity& out) {
    const auto& hook = c.worker().shared.options.identify;
    if (!hook) {
        out.credential = r.get(known::authorization);
        return true;
    }
    auto name = hook(request_view(r));
    if (!name) {
        refuse(c, 401, error_code::invalid_request, "authentication required", {}, "WWW-Authenticate: Bearer\r\n");
        return false;
    }
    out.principal = std::make_shared<const std::string>(std::move(*name));
    out.credential = *out.principal;
    return true;
}

// ---- revision 2026-07-28 ----

/// True if the header occurs once, with this value.
bool mirrors_once(const request& r, known header, std::string_view value) {
    std::string_view given = r.get(header);
    return given.data() && r.count(header) == 1 && protocol::mirrors(given, value);
}

json::value supported_versions() {
    json::value all = json::array();
    for (std::size_t i = protocol::revision_count; i-- > 0;) all.push_back(protocol::revision_names[i]);
    return all;
}

/// Returns false if the request was refused.
bool check_modern_request(http_connection& c, const request& r, const rpc::message& m, const json::value& meta) {
    auto mismatch = [&](const std::string& why) {
        refuse(c, 400, error_code::header_mismatch, why, m.id);
        return false;
    };
    auto version = meta[protocol::meta_key::protocol_version].if_string();
    if (!version || !meta[protocol::meta_key::client_capabilities].is_object()) {
        std::string_view which =
            version ? protocol::meta_key::client_capabilities : protocol::meta_key::protocol_version;
        refuse(c, 400, error_code::invalid_params,
               "_meta." + std::string(which) + (version ? ": expected object" : ": expected string"), m.id);
        return false;
    }
    if (!mirrors_once(r, known::mcp_protocol_version, *version)) {
        return mismatch("header mismatch: MCP-Protocol-Version must match the body");
    }
    if (!mirrors_once(r, known::mcp_method, m.method)) {
        return mismatch("header mismatch: Mcp-Method must match the method in the body");
    }
    if (auto name = protocol::name_for(m.method, *m.params); name && !mirrors_once(r, known::mcp_name, *name)) {
        return mismatch("header mismatch: Mcp-Name must match the name or uri in the body");
    }
    if (*version != protocol::name_of(protocol::latest)) {
        refuse(c, 400, error_code::unsupported_protocol_version, "unsupported protocol version", m.id, {},
               json::object({{"supported", supported_versions()}, {"requested", *version}}));
        return false;
    }
    if (m.method == "tools/call") {
        auto name = (*m.params)["name"].if_string();
        const auto* tool = name ? c.worker().tools.of(c.worker().shared.server->core->tools).find(*name) : nullptr;
        if (tool && !(*tool)->mirrored.empty()) {
            auto find = [&](std::string_view header) -> protocol::found_header {
                return {r.find(header), r.count(header)};
            };
            if (auto problem = protocol::check_mirrored((*tool)->mirrored, (*m.params)["arguments"], find)) {
                return mismatch(*problem);
            }
        }
    }
    return true;
}

/// The connection's handler for requests without a session, created at first use. Returns null if the request was refused.
stateless_handler* handler_of(http_connection& c, std::shared_ptr<stateless_handler>& kept, const rpc::request_id& id) {
    if (!kept || kept->ended()) kept = c.worker().stopping() ? nullptr : stateless_handler::create(c);
    if (!kept) refuse(c, shutting_down(), id);
    return kept.get();
}

void give_to(http_connection& c, stateless_handler& handler, const rpc::message& m, const identity& who) {
    http_server_core& all = c.worker().shared;
    if (who.principal) handler.session().set_principal(who.principal);
    if (handler.session().peer().core().closing()) return refuse(c, shutting_down(), m.id);
    if (handler.session().peer().core().room() == 0 && m.method != "ping") {  // F8
        return refuse(c, too_many_requests(), m.id);
    }
    answer_form form = all.options.answers;
    if (m.method == "subscriptions/listen") {  // the response is always a stream
        if (all.counters.streams.load(std::memory_order_relaxed) >= all.options.limits.max_streams) {
            return refuse(c, too_many_streams(), m.id);
        }
        if (form == answer_form::json) form = answer_form::as_needed;
    }
    handler.receive_request(m, form);
}

void serve_modern(http_connection& c, const request& r, const rpc::message& m, const identity& who) {
    if (m.kind == rpc::message_kind::notification) {
        auto version = (*m.params)["_meta"][protocol::meta_key::protocol_version].if_string();
        if (!version || !mirrors_once(r, known::mcp_protocol_version, *version) ||
            (r.get(known::mcp_method).data() && !mirrors_once(r, known::mcp_method, m.method))) {
            return refuse(c, 400, error_code::header_mismatch,
                          "header mismatch: MCP-Protocol-Version and Mcp-Method must match the body");
        }
        // I5: ids are not unique across clients, so a cancel is meaningless here; only servers send progress.
        bool heard = m.method != "notifications/cancelled" && m.method != "notifications/progress";
        if (heard) {
            stateless_handler* handler = handler_of(c, c.modern(), {});
            if (!handler) return;
            if (who.principal) handler->session().set_principal(who.principal);
            handler->receive_notification(m);
        }
        return c.respond(202, {}, {});
    }
    if (!check_modern_request(c, r, m, (*m.params)["_meta"])) return;
    if (stateless_handler* handler = handler_of(c, c.modern(), m.id)) give_to(c, *handler, m, who);
}

// ---- revisions up to 2025-11-25 ----

legacy_request legacy(http_connection& c, const request& r, const identity& who) {
    legacy_request out;
    out.session_id = r.get(known::mcp_session_id);
    out.credential = who.credential;
    out.last_event_id = r.get(known::last_event_id);
    out.body = r.body;
    out.principal = who.principal;
    out.answer = std::make_shared<exchange>(c);
    c.expect_answer(out.answer);
    return out;
}

/// Reads the MCP-Protocol-Version header; missing means 2025-03-26 (HDR-21). Returns false if the request was refused (HDR-15).
bool legacy_revision(http_connection& c, const request& r, const rpc::request_id& id, protocol::revision& out) {
    std::string_view header = r.get(known::mcp_protocol_version);
    out = protocol::revision::r2025_03_26;
    if (!header.data()) return true;
    auto known = protocol::find_revision(header);
    if (known && !protocol::is_modern(*known)) {
        out = *known;
        return true;
    }
    if (known) {
        refuse(c, 400, error_code::invalid_params,
               "_meta is missing " + std::string(protocol::meta_key::protocol_version), id);
    } else {
        refuse(c, 400, error_code::unsupported_protocol_version, "unsupported protocol version", id, {},
               json::object({{"supported", supported_versions()}, {"requested", header}}));
    }
    return false;
}

void serve_stateless(http_connection& c, const rpc::message& m, protocol::revision rev, const identity& who) {
    if (m.kind != rpc::message_kind::request) return c.respond(202, {}, {});
    stateless_handler* handler = handler_of(c, c.stateless(), m.id);
    if (!handler) return;
    handler->session().be_stateless(rev);
    give_to(c, *handler, m, who);
}

void serve_legacy(http_connection& c, const request& r, const json::value& body, const rpc::message* m,
                  const identity& who) {
    rpc::request_id id = m ? m->id : rpc::request_id();
    protocol::revision rev{};
    bool opening = m && m->kind == rpc::message_kind::request && m->method == "initialize";
    if (m && m->kind == rpc::message_kind::notification &&
        r.get(known::mcp_protocol_version) == protocol::name_of(protocol::latest)) {
        return c.respond(202, {}, {});  // without `_meta` there is nothing to do
    }
    if (!legacy_revision(c, r, id, rev)) return;
    if (c.worker().shared.options.stateless) {
        if (!m) return refuse(c, 400, error_code::invalid_request, "batches are not supported without a session");
        return serve_stateless(c, *m, rev, who);
    }
    bool named = r.get(known::mcp_session_id).data() != nullptr;
    if (!named && !opening) {
        return refuse(c, 400, error_code::invalid_request, "not initialized: missing header Mcp-Session-Id", id);
    }
    legacy_request out = legacy(c, r, who);
    out.parsed = &body;
    if (m && m->kind == rpc::message_kind::request) out.id = id;
    if (named) return hand_over(c.worker(), out);
    open_session(c.worker(), out);
}

// ---- by HTTP method ----

/// HTTP-05: clients must accept both types, because the server chooses.
bool check_media(http_connection& c, const request& r) {
    accepted_types accept = read_accept(r.headers);
    bool json_only = c.worker().shared.options.answers == answer_form::json;
    if (!accept.json || (!accept.event_stream && !json_only)) {
        refuse(c, 406, error_code::invalid_request, "Accept must list application/json and text/event-stream");
        return false;
    }
    if (!is_json_type(r.get(known::content_type))) {
        refuse(c, 415, error_code::invalid_request, "Content-Type must be application/json");
        return false;
    }
    return true;
}

const json::value* read_body(http_connection& c, const request& r) {
    json::document& document = c.worker().document;
    const json::value* body =
        document.read(r.body, {.max_depth = c.worker().shared.server->core->options.limits.max_depth});
    if (!body) {
        ++c.worker().shared.server->core->totals.rejected_input;
        refuse(c, 400, error_code::parse, document.error().what);
    }
    return body;
}

bool has_modern_meta(const json::value& message) {
    return message["params"]["_meta"].contains(protocol::meta_key::protocol_version);
}

void post(http_connection& c, const request& r, const identity& who) {
    if (!check_media(c, r)) return;
    const json::value* body = read_body(c, r);
    if (!body) return;
    bool named_modern = r.get(known::mcp_protocol_version) == protocol::name_of(protocol::latest);
    if (body->is_array()) {
        bool modern = named_modern;
        for (const json::value& each : body->items()) modern = modern || has_modern_meta(each);
        if (modern)
            return refuse(c, 400, error_code::invalid_request, "batches are not supported in this protocol revision");
        return serve_legacy(c, r, *body, nullptr, who);
    }
    rpc::message m = rpc::classify(*body);
    if (m.kind == rpc::message_kind::invalid) {
        ++c.worker().shared.server->core->totals.rejected_input;
        return refuse(c, 400, m.code, m.problem, m.id);
    }
    if (m.kind == rpc::message_kind::response) {
        if (named_modern)
            return refuse(c, 400, error_code::invalid_request,
                          "unexpected response: this protocol revision has no requests to clients");  // E13
        return serve_legacy(c, r, *body, &m, who);
    }
    if (m.params && !m.params->is_object()) {
        bool as_answer = m.kind == rpc::message_kind::request && !named_modern;
        return refuse(c, as_answer ? 200 : 400, error_code::invalid_params, "params is not an object", m.id);
    }
    if (m.params && (*m.params)["_meta"].contains(protocol::meta_key::protocol_version)) {
        return serve_modern(c, r, m, who);
    }
    serve_legacy(c, r, *body, &m, who);
}

void method_not_allowed(http_connection& c, std::string_view allowed) {
    refuse(c, 405, error_code::invalid_request, "method not allowed", {}, "Allow: " + std::string(allowed) + "\r\n");
}

bool room_for_stream(http_connection& c) {
    http_server_core& all = c.worker().shared;
    if (all.counters.streams.load(std::memory_order_relaxed) < all.options.limits.max_streams) return true;
    refuse(c, too_many_streams());
    return false;
}

void get_or_delete(http_connection& c, const request& r, const identity& who, legacy_request::kind what) {
    if (c.worker().shared.options.stateless) return method_not_allowed(c, "POST");  // I13
    protocol::revision rev{};
    if (!legacy_revision(c, r, {}, rev)) return;
    if (what == legacy_request::kind::listen) {
        if (!read_accept(r.headers).event_stream) {
            return refuse(c, 406, error_code::invalid_request, "Accept must list text/event-stream");
        }
        if (!room_for_stream(c)) return;
    }
    if (!r.get(known::mcp_session_id).data()) {
        return refuse(c, 400, error_code::invalid_request, "missing header Mcp-Session-Id");
    }
    legacy_request out = legacy(c, r, who);
    out.what = what;
    hand_over(c.worker(), out);
}

void protocol_path(http_connection& c, const request& r) {
    identity who;
    if (!identify(c, r, who)) return;
    if (r.method == "POST") return post(c, r, who);
    if (r.method == "GET") return get_or_delete(c, r, who, legacy_request::kind::listen);
    if (r.method == "DELETE") return get_or_delete(c, r, who, legacy_request::kind::end);
    method_not_allowed(c, c.worker().shared.options.stateless ? "POST" : "GET, POST, DELETE");
}

// ---- the HTTP+SSE transport of 2024-11-05 ----

std::string_view query_value(std::string_view query, std::string_view name) {
    while (!query.empty()) {
        std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(query.size(), pair.size() + 1));
        if (pair.size() > name.size() && pair.starts_with(name) && pair[name.size()] == '=') {
            return pair.substr(name.size() + 1);
        }
    }
    return {};
}

void old_stream(http_connection& c, const request& r) {
    if (r.method != "GET") return method_not_allowed(c, "GET");
    identity who;
    if (!identify(c, r, who) || !room_for_stream(c)) return;
    open_old_session(c.worker(), legacy(c, r, who));
}

void old_message(http_connection& c, const request& r) {
    if (r.method != "POST") return method_not_allowed(c, "POST");
    identity who;
    if (!identify(c, r, who)) return;
    if (!is_json_type(r.get(known::content_type))) {
        return refuse(c, 415, error_code::invalid_request, "Content-Type must be application/json");
    }
    const json::value* body = read_body(c, r);
    if (!body) return;
    rpc::message m = rpc::classify(*body);
    if (m.kind == rpc::message_kind::invalid) return refuse(c, 400, m.code, m.problem, m.id);
    legacy_request out = legacy(c, r, who);
    out.session_id = query_value(r.query, "sessionId");
    out.parsed = body;
    hand_over(c.worker(), out);
}

}  // namespace

void respond_error(http_connection& c, int status, const char* reason) {
    refuse(c, status, status == 400 ? error_code::parse : error_code::invalid_request, reason);
}

void handle(http_connection& c, const request& r) {
    http_server_core& all = c.worker().shared;
    const http_options& o = all.options;
    std::string_view origin = r.get(known::origin);
    if (origin.data() && r.count(known::origin) > 1) return respond_error(c, 400, "duplicate Origin header");
    bool health = !o.health_path.empty() && r.path == o.health_path;  // load balancers use any Host
    bool as_before = !origin.data() && !r.host.empty() && r.host == c.trusted_host();
    auto verdict = as_before ? origin_check::verdict::fine : all.origins.check(r.host, origin);
    if (verdict == origin_check::verdict::fine && !as_before && !origin.data()) c.trusted_host() = r.host;
    if (verdict != origin_check::verdict::fine && !health) {
        return refuse(c, origin_check::status_of(verdict), error_code::invalid_request,
                      verdict == origin_check::verdict::bad_origin
                          ? "Origin not allowed: add it to http_options::allow_origins or use --allow-origin"
                          : "Host not allowed: add it to http_options::allow_hosts or use --allow-host");
    }
    if (origin.data() && !o.allow_origins.empty()) {
        if (r.method == "OPTIONS") {
            std::string lines;
            all.origins.append_preflight(lines, origin, r.find("access-control-request-headers"));
            return c.respond(204, {}, {}, lines);
        }
        all.origins.append_cors(c.common_headers(), origin);
    }
    if (r.path == o.path) return protocol_path(c, r);
    if (o.old_sse && r.path == o.sse_path) return old_stream(c, r);
    if (o.old_sse && r.path == o.message_path) return old_message(c, r);
    if (r.path != "/" && serve_page(c, r)) return;
    if (o.route) {  // the application may serve its own front page
        if (auto answer = o.route(request_view(r))) {
            std::string lines;
            for (const auto& [name, value] : answer->headers) add_header(lines, name, value);
            return c.respond(answer->status, answer->content_type, answer->body, lines);
        }
    }
    if (serve_page(c, r)) return;
    c.respond(404, "text/plain; charset=utf-8", "Not found.\n");
}

}  // namespace keel::http
