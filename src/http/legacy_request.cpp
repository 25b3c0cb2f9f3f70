#include "http/legacy_request.hpp"

#include "http/http_server_core.hpp"
#include "http/legacy_session.hpp"
#include "http/unavailable.hpp"
#include "http_common/media_type.hpp"
#include "server/version_checks.hpp"

#include <openssl/rand.h>

#include <charconv>
#include <stdexcept>

namespace keel::inline KEEL_ABI::http {

namespace {

constexpr std::size_t random_bytes = 18;  // 24 characters

void refuse(const legacy_request& r, int status, const rpc::failure& why, const rpc::request_id& id = {}) {
    std::string text;
    rpc::write_error(text, id, why);
    r.answer->respond(status, json_type, text);
}

void refuse(const legacy_request& r, const unavailable& why, const rpc::request_id& id) {
    std::string text;
    rpc::write_error(text, id, why.error);
    r.answer->respond(why.status, json_type, text, why.headers);
}

/// Unguessable. Contains the index of the session's worker, so no shared table is needed.
std::string new_id(unsigned worker) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned char random[random_bytes];
    if (RAND_bytes(random, sizeof random) != 1) throw std::runtime_error("keel: RAND_bytes failed");
    std::string id;
    for (std::size_t i = 0; i < random_bytes; i += 3) {
        unsigned group = static_cast<unsigned>(random[i] << 16 | random[i + 1] << 8 | random[i + 2]);
        for (int shift = 18; shift >= 0; shift -= 6) id += digits[(group >> shift) & 63];
    }
    return id + '.' + std::to_string(worker);
}

http_worker* worker_named(http_server_core& all, std::string_view id) {
    std::size_t dot = id.rfind('.');
    if (dot == std::string_view::npos) return nullptr;
    std::size_t index = 0;
    auto [end, problem] = std::from_chars(id.data() + dot + 1, id.data() + id.size(), index);
    if (problem != std::errc() || end != id.data() + id.size() || index >= all.workers()) return nullptr;
    return &all.worker_of(static_cast<unsigned>(index));
}

/// Returns false if the request was refused.
bool check_message(const legacy_request& r, const rpc::message& m, bool in_batch) {
    if (m.kind == rpc::message_kind::invalid) {
        refuse(r, 400, {m.code, m.problem, {}}, m.id);
        return false;
    }
    if (m.kind != rpc::message_kind::request || m.method != "initialize") return true;
    if (in_batch) refuse(r, 400, {error_code::invalid_request, "initialize cannot be part of a batch", {}}, m.id);
    else refuse(r, 400, server_side::already_initialized(), m.id);
    return false;
}

/// Returns false if the batch was refused as a whole.
bool read_batch(const legacy_request& r, const json::value& body, protocol::revision rev, std::size_t max_batch,
                std::vector<rpc::message>& out) {
    if (const char* why = rpc::batch_problem(body, protocol::has_batches(rev), max_batch)) {
        refuse(r, 400, {error_code::invalid_request, why, {}});
        return false;
    }
    for (const json::value& each : body.items()) {
        out.push_back(rpc::classify(each));
        if (!check_message(r, out.back(), true)) return false;
    }
    return true;
}

/// Called on the session's worker.
void deliver(http_worker& home, const legacy_request& r) {
    auto session = home.find_session(r.session_id);
    const bool found = session && !session->ended() && session->is_old_transport() == r.old_transport;
    if (!found || !session->belongs_to(r.credential)) {
        return refuse(r, 404, {session_not_found, "session not found", {}}, r.id);
    }
    // During shutdown new requests are refused; responses and cancels are accepted, because they help running calls to end.
    bool new_work = r.what == legacy_request::kind::listen || r.id.present();
    if (home.stopping() && new_work) return refuse(r, shutting_down(), r.id);
    if (new_work && home.shared.budget.tight()) return refuse(r, low_memory(), r.id);
    if (r.what != legacy_request::kind::end && !session->client_returns()) {  // chosen to end by another worker
        return refuse(r, 404, {session_not_found, "session not found", {}}, r.id);
    }
    if (r.principal) session->session().set_principal(r.principal);
    switch (r.what) {
        case legacy_request::kind::end:
            session->end("the client deleted the session");
            return r.answer->respond(200, {}, {});
        case legacy_request::kind::listen: return session->listen(r.last_event_id, r.answer);
        case legacy_request::kind::post: break;
    }
    const limits& bounds = home.shared.server->core().options.limits;
    const json::value* body = r.parsed ? r.parsed : home.document.read(r.body, {.max_depth = bounds.max_depth});
    if (!body) return refuse(r, 400, {error_code::parse, "invalid JSON", {}});  // cannot happen: it was parsed before
    bool early = !session->session().initialized();  // HTTP+SSE of 2024-11-05: initialize arrives here too
    if (early || !body->is_array()) {
        rpc::message m = rpc::classify(*body);
        if (session->by().owner) r.answer->note_message(m, session->by().server->core());
        if (!early && !check_message(r, m, false)) return;
        return session->post({&m, 1}, false, r.answer);
    }
    std::vector<rpc::message> messages;
    if (read_batch(r, *body, session->session().negotiated(), bounds.max_batch, messages)) {
        session->post(messages, true, r.answer);
    }
}

}  // namespace

void hand_over(http_worker& here, const legacy_request& r) {
    http_worker* home = worker_named(here.shared, r.session_id);
    if (!home) return refuse(r, 404, {session_not_found, "session not found", {}}, r.id);
    if (home == &here) return deliver(here, r);
    // Copies, because the request's views are invalid when the other loop handles it.
    struct kept {
        std::string session_id, credential, last_event_id;
        std::shared_ptr<const budgeted_text> body;
    };
    auto copy = std::make_shared<kept>(kept{std::string(r.session_id), std::string(r.credential),
                                            std::string(r.last_event_id), here.shared.keep(r.body)});
    if (!copy->body) return refuse(r, low_memory(), r.id);
    bool posted =
        home->loop->post([home, keep = here.shared.shared_from_this(), copy, what = r.what,
                          old_transport = r.old_transport, id = r.id, principal = r.principal, answer = r.answer] {
            legacy_request there;
            there.id = id;
            there.what = what;
            there.old_transport = old_transport;
            there.session_id = copy->session_id;
            there.credential = copy->credential;
            there.last_event_id = copy->last_event_id;
            there.body = copy->body->get();
            there.principal = principal;
            there.answer = answer;
            try {
                deliver(*home, there);
            } catch (const std::exception& e) {  // an exception, such as bad_alloc, fails this request only (F11)
                home->shared.server->core().report(log_level::error,
                                                   std::string("failed to handle an HTTP request: ") + e.what());
                refuse(there, 500, {error_code::internal, "internal error", {}}, there.id);
            }
            home->flush_dirty();
        });
    if (!posted) refuse(r, shutting_down(), r.id);
}

namespace {

/// Counts one more session of the client. Unused sessions of the same client end for it. Returns false if there are none.
bool take_session(http_server_core& all, const client_pair& client, counted_pair& out) {
    const std::size_t most = all.quotas.limits().sessions;
    const client_usage* full = out.take(client, &client_usage::sessions, most);
    if (!full) return true;
    if (!all.unused.end_oldest(full)) return false;
    // The session may end a little later, on its own worker. It is no longer in the list, so it makes room only once.
    out.take(client, &client_usage::sessions, 0);
    return true;
}

std::shared_ptr<legacy_session> make_session(http_worker& here, const legacy_request& r, const rpc::request_id& id,
                                             bool one_stream) {
    http_server_core& all = here.shared;
    std::shared_ptr<legacy_session> made;
    counted_pair use;
    if (here.stopping()) {
        refuse(r, shutting_down(), id);
    } else if (!take_session(all, r.client, use)) {
        refuse(r, too_many_sessions_of_client(), id);
    } else if (all.counters.sessions.load() >= all.options.limits.max_sessions && !all.unused.end_oldest()) {
        refuse(r, too_many_sessions(), id);
    } else if (all.budget.tight()) {
        refuse(r, low_memory(), id);
    } else {
        tenant_result by = all.tenants.for_session(r.principal ? std::string_view(*r.principal) : std::string_view());
        if (!by.found) {
            refuse(r, by.refused.status, {error_code::internal, std::string(by.refused.message), {}}, id);
            return nullptr;
        }
        made = legacy_session::create(here, std::move(by.found), new_id(here.index), std::string(r.credential),
                                      std::move(use), one_stream);
        if (!made) refuse(r, shutting_down(), id);
        else if (r.principal) made->session().set_principal(r.principal);
    }
    return made;
}

}  // namespace

void open_session(http_worker& here, const legacy_request& r) {
    rpc::message m = rpc::classify(*r.parsed);
    auto made = make_session(here, r, m.id, false);
    if (made && made->session().peer().core().room() == 0) {  // F8
        refuse(r, too_many_requests(), m.id);
        return made->end("too many requests in flight");
    }
    if (made && made->client_room() == 0) {
        refuse(r, too_many_requests_of_client(), m.id);
        return made->end("too many requests of this client in flight");
    }
    if (made && made->open(m, r.answer)) here.add_session(std::move(made));  // H1: only after success
}

void open_old_session(http_worker& here, const legacy_request& r) {
    auto made = make_session(here, r, {}, true);
    if (!made) return;
    here.add_session(made);
    made->listen_old(here.shared.options.message_path, r.answer);
}

}  // namespace keel::http
