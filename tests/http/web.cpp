#include "http/web.hpp"

#include <exception>

namespace keel::test {

struct place {
    std::optional<std::string> at;
    std::optional<int> n;
};
KEEL_DESCRIBE(place, at, n)

// ---- messages ----

void web_talk::sent(std::string_view body) {
    schemas.sent(body);
    json::document doc;
    const json::value* v = doc.read(body);
    if (!v) return;
    auto note = [this](const json::value& m) {
        if (m.contains("id") && m.contains("method")) ++asked_[json::to_string(m["id"])];
    };
    if (!v->is_array()) return note(*v);
    for (const json::value& each : v->items()) note(each);
}

void web_talk::received(const std::string& message, const std::string& event) {
    if (!event.empty() && !events_.insert(event).second) return;
    json::value v = json::parse(message);
    schemas.received(v);
    auto note = [this](const json::value& m) {
        if (m.contains("id") && !m.contains("method")) ++answered_[json::to_string(m["id"])];
    };
    if (!v.is_array()) return note(v);
    for (const json::value& each : v.items()) note(each);
}

void web_talk::check() const {
    for (const std::string& problem : schemas.problems()) FAIL_CHECK(problem);
    for (const auto& [id, count] : answered_) {
        auto at = asked_.find(id);
        CHECK_MESSAGE(count <= (at == asked_.end() ? 0 : at->second), "answers to " << id << ": " << count);
    }
}

std::string in_short(const json::value& m) {
    if (auto method = m["method"].if_string()) {
        if (*method != "notifications/progress") return std::string(*method);
        return "progress " + json::to_string(m["params"]["progress"]);
    }
    if (const json::value* e = m.find("error")) {
        return "error " + std::to_string((*e)["code"].as_int()) + " " + std::string((*e)["message"].as_string());
    }
    const json::value& content = m["result"]["content"];
    if (!content.is_array() || content.size() == 0) return json::to_string(m["result"]);
    std::string text(content.at(0)["text"].if_string().value_or("?"));
    return m["result"]["isError"].if_bool().value_or(false) ? "failed: " + text : text;
}

// ---- a client ----

void web_client::expect(std::string_view request) {
    if (request.starts_with("GET /") && !request.starts_with("GET /mcp ") && !request.starts_with("GET /sse ")) {
        pages_.insert(requests_);
    }
    ++requests_;
    std::size_t end = request.find("\r\n\r\n");
    if (request.starts_with("POST")) talk->sent(request.substr(end + 4));
}

void web_client::later(std::string request) {
    expect(request);
    wire->feed(std::move(request));
}

seen_answer web_client::answer(std::size_t n) const {
    seen_output all = look();
    return n < all.answers.size() ? all.answers[n] : seen_answer();
}

seen_answer web_client::last() const {
    seen_output all = look();
    return all.answers.empty() ? seen_answer() : all.answers.back();
}

std::string web_client::said() const {
    std::vector<std::string> all = last().messages();
    return all.empty() ? "-" : in_short(json::parse(all.back()));
}

lines web_client::said_all() const {
    lines out;
    for (const seen_answer& a : look().answers) {
        for (const std::string& m : a.messages()) out.push_back(in_short(json::parse(m)));
    }
    return out;
}

void web_client::check() {
    seen_output all = look();
    CHECK_MESSAGE(all.problem.empty(), all.problem);
    CHECK(all.answers.size() <= requests_ + (raw_ ? 1 : 0));  // a malformed request can be refused too
    std::size_t n = 0;
    auto tell = [&](const std::string& message, const std::string& event) {
        if (++n > told_) talk->received(message, event);
    };
    for (std::size_t i = 0; i < all.answers.size(); ++i) {
        const seen_answer& a = all.answers[i];
        if (pages_.contains(i)) continue;
        if (!a.stream) {
            for (const std::string& m : a.messages()) tell(m, "");
        }
        for (const seen_event& e : a.events) {
            if (!e.data.empty() && e.event != "endpoint") tell(e.data, e.id);
        }
    }
    told_ = n;
}

// ---- the server ----

web::web(web_settings how) : settings(std::move(how)), loop(make_loop(settings.seed)) {
    implementation about;
    about.name = "web";
    about.version = "1";
    server_options options;
    options.limits = settings.bounds;
    options.worker_threads = 1;
    options.log = [this](log_level level, std::string_view text) {
        log_.emplace_back(std::string(name_of(level)) + ": " + std::string(text));
    };
    host = std::make_unique<server>(std::move(about), std::move(options));
    add_tools();
    core = std::make_shared<http::http_server_core>(server_access::of(*host), settings.http);
    server_access::of(*host)->begin();
    core->open_workers(loop, 1);
}

web::~web() {
    if (std::uncaught_exceptions() == 0) finish();
}

void web::add_tools() {
    host->add_tool("hold", "waits", [this](context& ctx, place p) -> task<std::string> {
        context own = ctx;
        head_count::presence here(handlers);
        station& s = at(p.at.value_or(""));
        ++s.came;
        s.contexts.push_back(own);
        try {
            co_await s.g.pass();
        } catch (const cancelled&) {
            ++s.cancelled;
            throw;
        }
        co_return "held " + p.at.value_or("");
    });
    host->add_tool("tidy", "waits, and when it is cancelled waits to tidy up", [this](place p) -> task<std::string> {
        head_count::presence here(handlers);
        station& s = at(p.at.value_or(""));
        ++s.came;
        bool stopped_early = false;
        try {
            co_await s.g.pass();
        } catch (const cancelled&) {
            ++s.cancelled;
            stopped_early = true;
        }
        if (stopped_early) co_await at("tidying").g.pass();
        co_return "tidy";
    });
    host->add_tool("talk", "says 1, waits, says 2", [this](context& ctx, place p) -> task<std::string> {
        context own = ctx;
        head_count::presence here(handlers);
        station& s = at(p.at.value_or(""));
        ++s.came;
        s.contexts.push_back(own);
        own.progress(1);
        try {
            co_await s.g.pass();
        } catch (const cancelled&) {
            ++s.cancelled;
            throw;
        }
        own.progress(2);
        co_return "talked";
    });
    host->add_tool("steps", "reports progress", [this](context& ctx, place p) -> task<std::string> {
        head_count::presence here(handlers);
        for (int i = 1; i <= p.n.value_or(3); ++i) ctx.progress(i);
        co_return "stepped";
    });
    host->add_tool("ask", "asks for the roots", [this](context& ctx) -> task<std::string> {
        context own = ctx;
        head_count::presence here(handlers);
        std::vector<root> all = co_await own.list_roots();
        co_return std::to_string(all.size()) + " roots";
    });
    host->add_tool("big", "a long answer",
                   [](place p) { return std::string(static_cast<std::size_t>(p.n.value_or(0)), 'x'); },
                   {.quick = true});
    host->add_tool("echo", "says it again", [](place p) { return p.at.value_or(""); }, {.quick = true});
}

bool web::logged(std::string_view part) const {
    for (const std::string& each : log_) {
        if (each.find(part) != std::string::npos) return true;
    }
    return false;
}

web_client& web::connect(std::shared_ptr<web_talk> talk, std::string_view from) {
    if (!talk) talk = std::make_shared<web_talk>();
    auto wire = std::make_shared<script>(loop);
    clients.push_back(std::make_unique<web_client>(loop, wire, std::move(talk)));
    const http::ip_address peer = http::ip_address::parse(from).value_or(http::ip_address());
    on_loop([this, wire, peer] {
        http::counted_use use;
        if (!core->proxies.contains(peer)) use.take(core->quotas.of(peer), &http::client_usage::connections, 0);
        core->worker_of(0).adopt(wire->open(), peer, false, std::move(use));
    });
    return *clients.back();
}

http_session web::open_session(std::string_view version, std::string_view capabilities) {
    auto talk = std::make_shared<web_talk>();
    web_client& c = connect(talk);
    c.send(http_post(initialize_body(version, capabilities)));
    seen_answer a = c.last();
    REQUIRE(a.status == 200);
    http_session s{a.header("mcp-session-id"), std::string(version)};
    REQUIRE(!s.id.empty());
    talks_[s.id] = talk;
    sessions_.push_back(s);
    c.send(s.post(notification_line("notifications/initialized")));
    CHECK(c.status() == 202);
    c.eof();
    return s;
}

http_session web::session_of(web_client& c, std::string_view version) {
    http_session s{c.last().header("mcp-session-id"), std::string(version)};
    REQUIRE(!s.id.empty());
    talks_[s.id] = c.talk;
    sessions_.push_back(s);
    return s;
}

int web::ask(const http_session& s, std::string request) {
    web_client& c = connect(s);
    c.send(std::move(request));
    int status = c.status();
    c.eof();
    return status;
}

void web::forget_clients() {
    for (auto& c : clients) c->check();
    std::erase_if(clients, [](const auto& c) { return c->wire->destroyed(); });
}

void web::check_census() {
    CHECK(sessions() == 0);
    CHECK(streams() == 0);
    CHECK(in_flight() == 0);
    CHECK(handlers.here() == 0);
    CHECK(loop->ready() == 0);
    CHECK(loop->timers() == 0);
    for (auto& c : clients) CHECK(c->wire->destroyed());
}

void web::finish() {
    if (std::exchange(finished_, true)) return;
    bool was_stopped = stopped();
    for (std::size_t i = 0, n = clients.size(); i < n; ++i) {
        if (!clients[i]->wire->closed()) clients[i]->gone();
    }
    if (!was_stopped) {
        for (const http_session& s : sessions_) {
            int status = ask(s, s.end());
            CHECK((status == 200 || status == 404 || status == 503));
        }
    }
    advance(settings.bounds.cleanup_grace + 2 * tick());
    check_census();
    if (!was_stopped) {
        stop();
        CHECK(stopped());
    }
    for (auto& c : clients) c->check();
    std::set<web_talk*> checked;
    for (auto& c : clients) {
        if (checked.insert(c->talk.get()).second) c->talk->check();
    }
    host.reset();
    core.reset();
    loop->run();
    CHECK(loop->ready() == 0);
    CHECK(loop->timers() == 0);
}

}  // namespace keel::test
