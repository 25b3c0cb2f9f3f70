// The front page, /health, /ready and the metrics.

#include "http/http_connection.hpp"
#include "http/http_server_core.hpp"
#include "http/metrics_text.hpp"
#include "http/router.hpp"

namespace keel::inline KEEL_ABI::http {

namespace {

std::string escaped(std::string_view text) {
    std::string out;
    for (char c : text) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            default: out += c;
        }
    }
    return out;
}

server_health health_of(http_server_core& all) {
    server_health h = all.server->core().health();
    h.connections = all.counters.connections;
    return h;
}

void front_page(http_connection& c, const request& r) {
    http_server_core& all = c.worker().shared;
    const implementation& about = all.server->core().about;
    std::string host = r.host.data() ? escaped(r.host) : "localhost";
    std::string url = (all.tls ? "https://" : "http://") + host + escaped(all.options.path);
    std::string name = escaped(about.title.empty() ? about.name : about.title);
    std::string page =
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
        name +
        "</title>\n<style>body{font:16px/1.5 system-ui,sans-serif;max-width:42em;margin:3em auto;padding:0 1em;"
        "color:#222;background:#fff}code,pre{background:#f3f3f3;border-radius:4px}code{padding:.1em .3em}"
        "pre{padding:1em;white-space:pre-wrap;overflow-wrap:anywhere}@media(prefers-color-scheme:dark){body{color:#ddd;"
        "background:#181818}"
        "code,pre{background:#2a2a2a}}</style>\n<h1>" +
        name + "</h1>\n<p>Version " + escaped(about.version) +
        ". This is a server for the <a href=\"https://modelcontextprotocol.io\">Model Context Protocol</a>: it offers "
        "tools "
        "and data to AI applications.</p>\n";
    if (!about.description.empty()) page += "<p>" + escaped(about.description) + "</p>\n";
    page += "<p>This is an MCP endpoint. Point an MCP client at this URL:</p>\n<pre>" + url +
            "</pre>\n<p>Example configuration:</p>\n<pre>{ \"mcpServers\": { \"" + escaped(about.name) +
            "\": { \"url\": \"" + url + "\" } } }</pre>\n</html>\n";
    c.respond(200, "text/html; charset=utf-8", page,
              "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n"
              "X-Content-Type-Options: nosniff\r\n");
}

void health_page(http_connection& c) {
    http_server_core& all = c.worker().shared;
    server_health h = health_of(all);
    bool stopping = c.worker().stopping();
    json::value said = json::object({{"status", stopping ? "stopping" : "ok"},
                                     {"connections", h.connections},
                                     {"sessions", all.counters.sessions.load()},
                                     {"inFlight", h.in_flight}});
    c.respond(stopping ? 503 : 200, "application/json", json::to_string(said) + "\n", "Cache-Control: no-store\r\n");
}

void ready_page(http_connection& c) {
    bool stopping = c.worker().stopping();
    bool ready = !stopping && c.worker().shared.ready;
    json::value said = json::object({{"status", ready ? "ready" : stopping ? "stopping" : "not ready"}});
    c.respond(ready ? 200 : 503, "application/json", json::to_string(said) + "\n", "Cache-Control: no-store\r\n");
}

void metrics_page(http_connection& c) {
    http_server_core& all = c.worker().shared;
    const http_counters& n = all.counters;
    const server_side::server_core& core = all.server->core();
    metrics_snapshot now;
    now.health = health_of(all);
    now.operations = core.stats.operations();
    for (std::size_t i = 0; i <= protocol::revision_count; ++i) {
        const bool known = i < protocol::revision_count;
        now.requests.emplace_back(known ? protocol::revision_names[i] : "", core.totals.requests_of[i].load());
    }
    now.sessions = core.totals.sessions.read();
    now.others = {
        {"keel_http_sessions", "Open HTTP sessions of revisions before 2026-07-28.", static_cast<double>(n.sessions)},
        {"keel_http_servers", "Servers that exist for principals (http_options::server_for).",
         static_cast<double>(all.tenants.size())},
        {"keel_http_streams", "Open event streams.", static_cast<double>(n.streams)},
        {"keel_http_requests_total", "HTTP requests received.", static_cast<double>(all.requests())},
        {"keel_http_refused_total", "HTTP responses with status 4xx or 5xx, and refused connections.",
         static_cast<double>(n.refused)},
        {"keel_http_undeliverable_total", "Responses lost because the client had disconnected and cannot resume.",
         static_cast<double>(n.undeliverable)},
        {"keel_http_buffered_bytes", "Bytes of bodies, unread output and stored events.",
         static_cast<double>(all.budget.used())},
        {"keel_http_closed_for_memory_total", "Connections closed because http_limits::max_buffered was exceeded.",
         static_cast<double>(n.closed_for_memory)}};
    std::string text;
    append_metrics(text, now);
    c.respond(200, metrics_content_type, text, "Cache-Control: no-store\r\n");
}

}  // namespace

bool is_monitor_page(const http_connection& c, const request& r) {
    const http_options& o = c.worker().shared.options;
    if (c.monitor() == o.monitor_address.empty()) return false;
    for (const std::string* page : {&o.health_path, &o.ready_path, &o.metrics_path}) {
        if (!page->empty() && r.path == *page) return true;
    }
    return false;
}

bool serve_page(http_connection& c, const request& r) {
    const http_options& o = c.worker().shared.options;
    bool front = r.path == "/";
    if (!front && !is_monitor_page(c, r)) return false;
    if (r.method != "GET" && r.method != "HEAD") {
        c.respond(405, "text/plain; charset=utf-8", "Method not allowed: use GET or HEAD.\n", "Allow: GET, HEAD\r\n");
    } else if (front) {
        front_page(c, r);
    } else if (r.path == o.health_path) {
        health_page(c);
    } else if (r.path == o.ready_path) {
        ready_page(c);
    } else {
        metrics_page(c);
    }
    return true;
}

}  // namespace keel::http
