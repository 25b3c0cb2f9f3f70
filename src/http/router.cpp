#include "http/router.hpp"

#include "http/admission.hpp"
#include "http/http_connection.hpp"
#include "http/http_server_core.hpp"
#include "http/legacy_request.hpp"
#include "http/request_view.hpp"
#include "http/response_head.hpp"
#include "http/stateless_handler.hpp"
#include "http/unavailable.hpp"
#include "http_common/media_type.hpp"
#include "protocol/mirrored_headers.hpp"
#include "rpc/message.hpp"
#include "server/version_checks.hpp"

#include <keel/error.hpp>

// The checks that need the body, in the order of the specification's error cases: JSON, protocol revision, and then the rules of that
// revision. admission.cpp has the checks that come before.

namespace keel::inline KEEL_ABI::http {

namespace {

using answer_form = http_options::answer_form;

void refuse(http_connection& c, int status, const rpc::failure& why, const rpc::request_id& id,
            std::string_view headers = {}) {
    std::string text;
    rpc::write_error(text, id, why);
    c.respond(status, json_type, text, headers);
}

void refuse(http_connection& c, int status, int code, std::string_view message, const rpc::request_id& id = {},
            std::string_view headers = {}) {
    refuse(c, status, rpc::failure{code, std::string(message), {}}, id, headers);
}

void refuse(http_connection& c, const unavailable& why, const rpc::request_id& id = {}) {
    refuse(c, why.status, why.error, id, why.headers);
}

/// The sender of a request. Without an `identify` hook there is no principal; a session then belongs to the Authorization header
/// that created it.
struct identity {
    std::shared_ptr<const std::string> principal;  // null: there is no hook
    std::string_view credential;
};

identity identity_of(http_connection& c, const request& r) {
    const auto& principal = c.admitted().principal;
    return {principal, principal ? std::string_view(*principal) : r.get(known::authorization)};
}

/// For the access log.
void note_message(http_connection& c, const rpc::message& m, const server_side::server_core& by) {
    if (c.access()) c.access()->set_message(message_names::of(m, by));
}

// ---- revision 2026-07-28 ----

/// True if the header occurs once, with this value.
bool mirrors_once(const request& r, known header, std::string_view value) {
    std::string_view given = r.get(header);
    return given.data() && r.count(header) == 1 && protocol::mirrors(given, value);
}

/// True if MCP-Protocol-Version names a revision without handshake.
bool header_is_modern(const request& r) { return protocol::is_modern(r.get(known::mcp_protocol_version)); }

/// Returns false if the request was refused.
bool check_modern_request(http_connection& c, const request& r, const rpc::message& m, const json::value& meta) {
    auto mismatch = [&](const std::string& why) {
        refuse(c, 400, error_code::header_mismatch, why, m.id);
        return false;
    };
    auto version = server_side::read_version(meta);
    if (!version) {
        refuse(c, 400, server_side::invalid_meta(meta), m.id);
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
    if (!protocol::is_modern(*version)) {
        refuse(c, 400, server_side::unsupported_version(*version), m.id);
        return false;
    }
    return true;
}

/// The tool that a call names, on the server of its client; null if there is none.
const server_side::tool* called_tool(http_connection& c, const tenant& by, const rpc::message& m,
                                     std::shared_ptr<const server_side::table<server_side::tool>>& keep) {
    auto name = (*m.params)["name"].if_string();
    if (!name) return nullptr;
    const auto& tools = by.server->core().tools;
    if (by.owner) keep = tools.snapshot();  // the worker's view is of the common server
    const auto* found = (keep ? *keep : c.worker().tools.of(tools)).find(*name);
    return found ? found->get() : nullptr;
}

/// Checks the headers that mirror arguments of the tool. Returns false if the request was refused.
bool check_mirrored_arguments(http_connection& c, const request& r, const rpc::message& m, const tenant& by) {
    if (m.method != "tools/call") return true;
    std::shared_ptr<const server_side::table<server_side::tool>> keep;
    const auto* tool = called_tool(c, by, m, keep);
    if (!tool || tool->mirrored.empty()) return true;
    auto find = [&](std::string_view header) -> protocol::found_header { return {r.find(header), r.count(header)}; };
    auto problem = protocol::check_mirrored(tool->mirrored, (*m.params)["arguments"], find);
    if (problem) refuse(c, 400, error_code::header_mismatch, *problem, m.id);
    return !problem;
}

/// The connection's handler for requests without a session, created at first use. Returns null if the request was refused.
stateless_handler* handler_of(http_connection& c, std::shared_ptr<stateless_handler>& kept, const rpc::message& m,
                              const identity& who) {
    tenant_servers& tenants = c.worker().shared.tenants;
    const std::string_view principal = who.principal ? std::string_view(*who.principal) : std::string_view();
    if (kept && tenants.enabled() && kept->tenant_principal() != principal) {
        // A proxy may use one connection for several clients.
        std::exchange(kept, nullptr)->connection_closed();
    }
    if (kept && kept->ended()) kept = nullptr;
    if (!kept && !c.worker().stopping()) {
        tenant_result by = tenants.for_principal(principal, c.worker().coarse_now());
        if (!by.found) {
            refuse(c, by.refused.status, error_code::internal, by.refused.message, m.id);
            return nullptr;
        }
        kept = stateless_handler::create(c, std::move(by.found), principal);
    }
    if (!kept) refuse(c, shutting_down(), m.id);
    else if (kept->by().owner) note_message(c, m, kept->by().server->core());
    return kept.get();
}

void give_to(http_connection& c, stateless_handler& handler, const rpc::message& m, const identity& who) {
    http_server_core& all = c.worker().shared;
    if (who.principal) handler.session().set_principal(who.principal);
    if (handler.session().peer().core().closing()) return refuse(c, shutting_down(), m.id);
    if (handler.session().peer().core().room() == 0 && m.method != "ping") {  // F8
        return refuse(c, too_many_requests(), m.id);
    }
    if (handler.client_room() == 0 && m.method != "ping") {
        return refuse(c, too_many_requests_of_client(), m.id);
    }
    if (all.budget.tight()) return refuse(c, low_memory(), m.id);
    answer_form form = all.options.answers;
    if (m.method == "subscriptions/listen") {  // the response is always a stream
        if (all.counters.streams.load(std::memory_order_relaxed) >= all.options.limits.max_streams) {
            return refuse(c, too_many_streams(), m.id);
        }
        if (form == answer_form::json) form = answer_form::as_needed;
    }
    handler.receive_request(m, form);
}

void serve_modern(http_connection& c, const request& r, const rpc::message& m, const json::value& meta,
                  const identity& who) {
    if (m.kind == rpc::message_kind::notification) {
        auto version = meta[protocol::meta_key::protocol_version].if_string();  // notifications have no capabilities
        if (!version || !mirrors_once(r, known::mcp_protocol_version, *version) ||
            (r.get(known::mcp_method).data() && !mirrors_once(r, known::mcp_method, m.method))) {
            return refuse(c, 400, error_code::header_mismatch,
                          "header mismatch: MCP-Protocol-Version and Mcp-Method must match the body");
        }
        // I5: ids are not unique across clients, so a cancel is meaningless here; only servers send progress.
        bool heard = m.method != "notifications/cancelled" && m.method != "notifications/progress";
        if (heard) {
            stateless_handler* handler = handler_of(c, c.modern(), m, who);
            if (!handler) return;
            if (who.principal) handler->session().set_principal(who.principal);
            handler->receive_notification(m);
        }
        return c.respond(202, {}, {});
    }
    if (!check_modern_request(c, r, m, meta)) return;
    stateless_handler* handler = handler_of(c, c.modern(), m, who);
    if (handler && check_mirrored_arguments(c, r, m, handler->by())) give_to(c, *handler, m, who);
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
    if (r.count(known::mcp_protocol_version) > 1) {
        refuse(c, 400, error_code::invalid_request, "duplicate MCP-Protocol-Version header", id);
        return false;
    }
    if (auto found = protocol::find_legacy_revision(header)) {
        out = *found;
        return true;
    }
    bool modern = protocol::is_modern(header);
    refuse(c, 400, modern ? server_side::missing_version() : server_side::unsupported_version(header), id);
    return false;
}

void serve_stateless(http_connection& c, const rpc::message& m, protocol::revision rev, const identity& who) {
    if (m.kind != rpc::message_kind::request) return c.respond(202, {}, {});
    stateless_handler* handler = handler_of(c, c.stateless(), m, who);
    if (!handler) return;
    handler->session().be_stateless(rev);
    give_to(c, *handler, m, who);
}

void serve_legacy(http_connection& c, const request& r, const json::value& body, const rpc::message* m,
                  const identity& who) {
    rpc::request_id id = m ? m->id : rpc::request_id();
    protocol::revision rev{};
    bool opening = m && m->kind == rpc::message_kind::request && m->method == "initialize";
    if (m && m->kind == rpc::message_kind::notification && header_is_modern(r)) {
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
    out.client = c.counted_client();
    open_session(c.worker(), out);
}

// ---- by HTTP method ----

const json::value* read_body(http_connection& c, const request& r) {
    json::document& document = c.worker().document;
    http_server_core& all = c.worker().shared;
    const json::parse_options how{.max_depth = all.server->core().options.limits.max_depth};
    const std::span<char> kept = c.kept_body();
    // A session on another worker reads the text again.
    const bool in_place = !kept.empty() && (header_is_modern(r) || all.workers() == 1);
    const json::value* body =
        in_place ? document.read_in_place(kept.data(), kept.size(), how) : document.read(r.body, how);
    if (!body) {
        ++c.worker().shared.server->core().totals.rejected_input;
        refuse(c, 400, error_code::parse, document.error().what);
    }
    return body;
}

void post(http_connection& c, const request& r, const identity& who) {
    const json::value* body = read_body(c, r);
    if (!body) return;
    bool named_modern = header_is_modern(r);
    if (body->is_array()) {
        if (c.access()) c.access()->set_batch();
        bool modern = named_modern;
        for (const json::value& each : body->items()) modern = modern || server_side::modern_meta(each["params"]);
        if (modern) return refuse(c, 400, error_code::invalid_request, rpc::batches_unsupported);
        return serve_legacy(c, r, *body, nullptr, who);
    }
    rpc::message m = rpc::classify(*body);
    note_message(c, m, c.worker().shared.server->core());
    if (m.kind == rpc::message_kind::invalid) {
        ++c.worker().shared.server->core().totals.rejected_input;
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
        return refuse(c, as_answer ? 200 : 400, error_code::invalid_params, m.problem, m.id);
    }
    const json::value* meta = m.params ? server_side::modern_meta(*m.params) : nullptr;
    if (meta) return serve_modern(c, r, m, *meta, who);
    serve_legacy(c, r, *body, &m, who);
}

bool room_for_stream(http_connection& c) {
    http_server_core& all = c.worker().shared;
    const bool full = all.counters.streams.load(std::memory_order_relaxed) >= all.options.limits.max_streams;
    if (!full && !all.budget.tight()) return true;
    refuse(c, full ? too_many_streams() : low_memory());
    return false;
}

void get_or_delete(http_connection& c, const request& r, const identity& who, legacy_request::kind what) {
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

void protocol_path(http_connection& c, const request& r, const identity& who) {
    if (r.method == "POST") return post(c, r, who);
    get_or_delete(c, r, who, r.method == "GET" ? legacy_request::kind::listen : legacy_request::kind::end);
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

void old_stream(http_connection& c, const request& r, const identity& who) {
    if (!room_for_stream(c)) return;
    legacy_request out = legacy(c, r, who);
    out.client = c.counted_client();
    open_old_session(c.worker(), out);
}

void old_message(http_connection& c, const request& r, const identity& who) {
    const json::value* body = read_body(c, r);
    if (!body) return;
    rpc::message m = rpc::classify(*body);
    note_message(c, m, c.worker().shared.server->core());
    if (m.kind == rpc::message_kind::invalid) return refuse(c, 400, m.code, m.problem, m.id);
    legacy_request out = legacy(c, r, who);
    out.old_transport = true;
    out.session_id = query_value(r.query, "sessionId");
    out.parsed = body;
    hand_over(c.worker(), out);
}

}  // namespace

void respond_error(http_connection& c, int status, const char* reason) {
    refuse(c, status, status == 400 ? error_code::parse : error_code::invalid_request, reason);
}

namespace {

/// An admitted request.
void serve(http_connection& c, const request& r) {
    const http_options& o = c.worker().shared.options;
    const identity who = identity_of(c, r);
    if (r.path == o.path) return protocol_path(c, r, who);
    if (o.old_sse && r.path == o.sse_path) return old_stream(c, r, who);
    if (o.old_sse && r.path == o.message_path) return old_message(c, r, who);
    if (r.path != "/" && serve_page(c, r)) return;
    if (o.route) {  // the application may serve its own front page
        if (auto answer = o.route(request_view(r, r.body, c.client()))) {
            std::string lines;
            for (const auto& [name, value] : answer->headers) add_header(lines, name, value);
            return c.respond(answer->status, answer->content_type, answer->body, lines);
        }
    }
    if (serve_page(c, r)) return;
    c.respond(404, "text/plain; charset=utf-8", "Not found.\n");
}

}  // namespace

void check_head(http_connection& c, const request& r) {
    if (!admit(c, r)) return;
    c.admitted().by_head = true;
    if (needs_no_body(c, r)) serve(c, r);
}

void handle(http_connection& c, const request& r) {
    if (c.admitted().by_head || admit(c, r)) serve(c, r);
}

}  // namespace keel::http
