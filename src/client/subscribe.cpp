#include "client/subscribe.hpp"

#include "async/duration_text.hpp"
#include "async/start_task.hpp"
#include "async/timeout.hpp"
#include "client/client_session.hpp"
#include "client/engine.hpp"
#include "client/subscription_state.hpp"

namespace keel::inline KEEL_ABI::client_side {

namespace {

constexpr std::size_t most_subscriptions = 1024;  // of one connection

std::string filter_of(const subscription_request& what) {
    json::value filter = json::object();
    if (what.tools) filter.set("toolsListChanged", true);
    if (what.prompts) filter.set("promptsListChanged", true);
    if (what.resources) filter.set("resourcesListChanged", true);
    if (!what.uris.empty()) {
        json::value uris = json::array();
        for (const std::string& each : what.uris) uris.push_back(each);
        filter.set("resourceSubscriptions", std::move(uris));
    }
    return R"("notifications":)" + json::to_string(filter);
}

/// The listen request. It runs as long as the subscription, and its outcome ends the subscription.
task<void> run_listen(session_ptr s, std::shared_ptr<listen_request> l, std::string members, std::string meta,
                      std::vector<std::pair<std::string, std::string>> headers) {
    rpc::peer::call_options_with_progress how;
    how.idle = duration::max();
    how.total = duration::max();
    how.want_progress = false;
    how.peer_may_end = true;
    if (!headers.empty()) how.attributes = &headers;
    how.on_sent = [l](rpc::serial call) { l->call = call; };
    try {
        rpc::call_params params{members, meta};
        co_await rpc::peer::ask_text(s->shared_peer(), "subscriptions/listen", params, how);
        if (!l->acknowledged) {
            throw keel::error(error_kind::bad_message, "the server ended the subscription before acknowledging it");
        }
        l->state->finish(subscription_end::ended);
    } catch (const cancelled&) {
        l->state->finish(subscription_end::ended);
    } catch (const keel::error& e) {
        if (e.kind() == error_kind::cancelled && l->acknowledged) {
            l->state->finish(subscription_end::ended);
        } else {
            // For the caller, error_kind::cancelled means its own cancellation; here the server ended the request.
            if (!l->acknowledged && e.kind() == error_kind::cancelled) {
                keel::error why(error_kind::unavailable, "the server ended the subscription immediately");
                l->failure = std::make_exception_ptr(why);
            } else if (!l->acknowledged) {
                l->failure = std::current_exception();
            }
            l->state->finish(s->closing() ? subscription_end::ended : subscription_end::lost, e.what());
        }
    }
}

task<void> await_answer(std::shared_ptr<listen_request> l) { co_await l->answered; }

// ---- 2026-07-28 ----

/// `client` must outlive the task.
task<subscription> listen(const engine_ptr& client, session_ptr s, subscription_request what, call_options how) {
    std::string filter = filter_of(what);
    std::string meta = s->meta();
    append_meta(meta, how.meta);
    auto l = std::make_shared<listen_request>(*client->on);
    l->state = std::make_shared<subscription_state>();
    s->listens.push_back(l);
    std::weak_ptr<listen_request> weak = l;
    // The user may drop the subscription on any thread.
    l->state->set_on_stop([weak, home = client->on] {
        home->post([weak] {
            if (auto held = weak.lock()) held->line.stop();
        });
    });
    detail::start(l->line, run_listen(s, l, std::move(filter), std::move(meta), std::move(how.headers)),
                  [s, l](detail::outcome<void> o) {
                      if (o.index() == 0) {  // for example out of memory
                          if (!l->acknowledged) l->failure = std::get<0>(o);
                          l->state->finish(subscription_end::lost, "the subscription failed");
                      }
                      s->listens.remove(l);
                      l->answered.set();
                  });
    subscription made(l->state);  // an exception from here on ends the subscription
    duration bound = how.idle == duration::zero() ? client->options.limits.request_idle : how.idle;
    if (how.total > duration::zero() && bound >= how.total) bound = duration::max();  // the caller waits for `total`
    bool answered = co_await async::completes_within(bound, await_answer(l));
    if (l->failure) std::rethrow_exception(l->failure);
    if (!answered) {
        const char* limit = how.idle == duration::zero() ? " (limits::request_idle)" : " (call_options::idle)";
        throw keel::error(error_kind::timed_out, client->connections.server_name() +
                                                     ": subscribe: no acknowledgment within " +
                                                     async::duration_text(bound) + limit);
    }
    co_return made;
}

// ---- before 2026-07-28 ----

bool is_empty(const subscription_request& what) noexcept {
    return !what.tools && !what.prompts && !what.resources && what.uris.empty();
}

/// The notifications that the server has declared.
subscription_request declared_part(const client_session& s, subscription_request what) {
    auto has = [&](const char* feature, const char* part) {
        return s.capabilities[feature][part].if_bool().value_or(false);
    };
    what.tools = what.tools && has("tools", "listChanged");
    what.prompts = what.prompts && has("prompts", "listChanged");
    what.resources = what.resources && has("resources", "listChanged");
    if (!has("resources", "subscribe")) what.uris.clear();
    return what;
}

task<void> unsubscribe(engine_ptr client, session_ptr s, std::vector<std::string> uris) {
    for (const std::string& uri : uris) {
        if (s->subscribed_uris.contains(uri)) continue;  // subscribed again meanwhile
        outgoing_request what;
        what.method = "resources/unsubscribe";
        what.members = R"("uri":)" + json::to_string(uri);
        try {
            co_await client->sender.send(s, what);
        } catch (const keel::error& e) {
            client->log(log_level::info, std::string("could not unsubscribe: ") + e.what());
        }
    }
}

void drop_subscriber(engine_ptr client, session_ptr s, const subscription_state* which) {
    std::vector<std::string> unwanted;
    for (auto at = s->subscribers.begin(); at != s->subscribers.end(); ++at) {
        if (at->state.get() != which) continue;
        for (const std::string& uri : at->wants.uris) {
            auto found = s->subscribed_uris.find(uri);
            if (found == s->subscribed_uris.end() || --found->second > 0) continue;
            s->subscribed_uris.erase(found);
            bool granted = s->granted_uris.erase(uri) > 0;
            if (s->asked_uris.erase(uri) > 0 || granted) unwanted.push_back(uri);
        }
        at->state->finish(subscription_end::ended);
        s->subscribers.erase(at);
        break;
    }
    if (unwanted.empty() || !s->open()) return;
    loop& on = *client->on;
    async::start_task(on, unsubscribe(std::move(client), std::move(s), std::move(unwanted)),
                      [](detail::outcome<void>) {});
}

/// `client` must outlive the task.
task<subscription> subscribe_each(const engine_ptr& client, session_ptr s, subscription_request what,
                                  call_options how) {
    subscription_request agreed = declared_part(*s, std::move(what));
    if (!s->via().has_notifications()) agreed = {};

    auto state = std::make_shared<subscription_state>();
    state->set_agreed(agreed);
    client_session::legacy_subscriber entry;
    entry.state = state;
    entry.wants = agreed;
    s->subscribers.push_back(std::move(entry));
    for (const std::string& uri : agreed.uris) ++s->subscribed_uris[uri];
    std::weak_ptr<detail::client_engine> engine = client;
    std::weak_ptr<client_session> weak = s;
    state->set_on_stop([engine, weak, home = client->on, raw = state.get()] {
        home->post([engine, weak, raw] {
            auto held = engine.lock();
            auto session = weak.lock();
            if (held && session) drop_subscriber(std::move(held), std::move(session), raw);
        });
    });
    subscription made(state);  // an exception from here on unsubscribes
    for (const std::string& uri : agreed.uris) {
        if (s->granted_uris.contains(uri)) continue;
        outgoing_request subscribe;
        subscribe.method = "resources/subscribe";
        subscribe.members = R"("uri":)" + json::to_string(uri);
        subscribe.how = how;
        // Until the server has rejected it, the subscription may exist, even if this task is cancelled before the response.
        s->asked_uris.insert(uri);
        auto answered = [&] {
            if (auto asked = s->asked_uris.find(uri); asked != s->asked_uris.end()) s->asked_uris.erase(asked);
        };
        try {
            co_await client->sender.send(s, subscribe);
        } catch (const keel::error& e) {
            if (e.kind() == error_kind::rejected || e.kind() == error_kind::unavailable) answered();
            throw;
        }
        answered();
        if (s->subscribed_uris.contains(uri)) s->granted_uris.insert(uri);
    }
    co_return made;
}

}  // namespace

task<subscription> subscribe(engine_ptr client, subscription_request what, call_options how) {
    if (is_empty(what)) {
        throw std::invalid_argument("keel: empty subscription request: set tools, prompts, resources or uris");
    }
    for (const std::string& each : what.uris) {
        if (!json::is_utf8(each)) throw std::invalid_argument("keel: invalid resource URI: not UTF-8");
    }
    session_ptr s = co_await client->connections.ready();
    if (s->listens.size() + s->subscribers.size() >= most_subscriptions) {
        throw keel::error(error_kind::unavailable, "too many subscriptions on one connection (at most 1024)");
    }
    // Without a request if the server has declared none of it: the subscription is then empty in both eras.
    if (s->modern() && !is_empty(declared_part(*s, what)))
        co_return co_await listen(client, std::move(s), std::move(what), std::move(how));
    co_return co_await subscribe_each(client, std::move(s), std::move(what), std::move(how));
}

}  // namespace keel::client_side
