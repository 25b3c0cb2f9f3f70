#include "client/client_session.hpp"

#include "async/release_later.hpp"
#include "async/timeout.hpp"
#include "client/client_environment.hpp"
#include "client/declared_capabilities.hpp"
#include "client/shared_state.hpp"
#include "client/subscription_state.hpp"
#include "protocol/messages.hpp"
#include "protocol/revisions.hpp"

#include <algorithm>

namespace keel::inline KEEL_ABI::client_side {

namespace {
const json::value no_params;

bool covers(const std::string& subscribed, std::string_view uri) {
    // The updated resource may be a sub-resource of the subscribed one.
    return uri == subscribed || (uri.size() > subscribed.size() && uri.starts_with(subscribed) &&
                                 (subscribed.ends_with('/') || uri[subscribed.size()] == '/'));
}

bool wants(const subscription_request& r, const change& c) {
    switch (c.what) {
        case change::kind::tools: return r.tools;
        case change::kind::prompts: return r.prompts;
        case change::kind::resources: return r.resources;
        case change::kind::resource:
            return std::any_of(r.uris.begin(), r.uris.end(), [&](const std::string& u) { return covers(u, c.uri); });
    }
    return false;
}

}  // namespace

client_session::client_session(std::shared_ptr<session_user> user, const client_environment& environment,
                               const shared_state& shared, std::unique_ptr<link> via)
    : user_(std::move(user)), environment_(environment), shared_(shared), link_(std::move(via)),
      ending_(*environment_.on) {}

client_session::~client_session() { keep_alive_.end(); }

void client_session::start() {
    self_ = shared_from_this();
    peer_ = link_->open(environment_.on, environment_.options.limits, *this);
}

void client_session::close() {
    closing_ = true;
    if (peer_) peer_->close();
}

// ---- protocol version ----

void client_session::speak_modern(std::string_view version) {
    modern_ = true;
    version_ = version;
    revision_ = protocol::find_revision(version).value_or(protocol::latest);
    peer_->core().accept_requests(false);
    link_->speak(true, version);
    refresh_meta();
}

void client_session::speak_legacy(std::optional<protocol::revision> agreed) {
    modern_ = false;
    revision_ = agreed.value_or(protocol::latest_legacy);
    meta_.clear();
    peer_->core().accept_requests(true);
    peer_->core().allow_batches(agreed && protocol::has_batches(*agreed));
    link_->speak(false, agreed ? protocol::name_of(*agreed) : std::string_view());
    if (agreed) watch_for_silence();
}

void client_session::refresh_meta() {
    if (!modern_) return;
    meta_.clear();
    auto add = [this](std::string_view key, const json::value& v) {
        if (!meta_.empty()) meta_ += ',';
        meta_ += '"';
        meta_ += key;
        meta_ += "\":";
        meta_ += json::to_string(v);
    };
    add(protocol::meta_key::protocol_version, version_);
    add(protocol::meta_key::client_info, protocol::encode_for(revision_, environment_.options.about));
    add(protocol::meta_key::client_capabilities,
        protocol::encode_for(revision_, declared_capabilities(environment_.options, shared_, true)));
    if (auto level = shared_.wanted_level()) add(protocol::meta_key::log_level, name_of(*level));
}

void client_session::watch_for_silence() {
    keep_alive_.start(peer_, environment_.options.keep_alive, [this](rpc::peer& silent) {
        environment_.log(log_level::warning, "keep-alive timeout: no message from the server");
        silent.fail("keep-alive timeout: no message from the server");
    });
}

// ---- incoming messages ----

void client_session::on_request(rpc::peer&, rpc::serial id, std::string_view method, const json::value* given) {
    if (method == "ping") return peer_->finish(id, "{}");
    auto request = peer_->open_request(id);
    auto work = [](std::shared_ptr<client_session> self, std::string name, json::value params,
                   std::stop_token token) -> task<std::string> {
        json::value result = co_await self->user_->answer(*self, std::move(name), std::move(params), std::move(token));
        co_return json::to_string(result);
    };
    request->run(work(shared_from_this(), std::string(method), given ? *given : no_params, request->token()));
}

void client_session::on_notification(rpc::peer&, std::string_view method, const json::value* given) {
    user_->on_notification(*this, method, given ? *given : no_params);
}

void client_session::on_report(std::string_view text) { environment_.log(log_level::warning, text); }

void client_session::on_cancelled(rpc::serial, std::string_view reason) {
    environment_.log(log_level::info,
                     "the server cancelled its request" + (reason.empty() ? "" : ": " + std::string(reason)));
}

void client_session::on_handler_failed(rpc::serial, std::string_view what) {
    environment_.log(log_level::error, "handler failed: " + std::string(what));
}

void client_session::on_session_lost() {
    end_subscriptions("the session has expired on the server");
    user_->on_session_expired(shared_from_this());
}

// Reports everything as changed: an unnecessary reload is harmless, a missed change is not.
void client_session::on_gap() {
    environment_.log(log_level::info, "the server's event stream was interrupted; messages sent meanwhile are lost");
    const json::value nothing;
    for (const char* list : {"tools", "prompts", "resources"}) {
        if (!capabilities[list]["listChanged"].if_bool().value_or(false)) continue;
        user_->on_notification(*this, "notifications/" + std::string(list) + "/list_changed", nothing);
    }
    for (const auto& [uri, count] : std::map(subscribed_uris)) {
        user_->on_notification(*this, "notifications/resources/updated", json::object({{"uri", uri}}));
    }
}

void client_session::on_silence(std::string_view why) {
    environment_.log(log_level::warning, why);
    end_subscriptions(std::string(why));
}

// Subscriptions that were made before the server answered the request for the stream.
void client_session::on_stream_refused(std::string_view why) {
    if (subscribers.empty()) return;
    environment_.log(log_level::info, why);
    end_subscriptions(std::string(why));
}

void client_session::acknowledge(const json::value& params) {
    auto id = params["_meta"]["io.modelcontextprotocol/subscriptionId"].if_int();
    if (!id) return;
    for (const auto& each : listens) {
        if (each->call != static_cast<rpc::serial>(*id) || each->acknowledged) continue;
        const json::value& said = params["notifications"];
        subscription_request agreed;
        agreed.tools = said["toolsListChanged"].if_bool().value_or(false);
        agreed.prompts = said["promptsListChanged"].if_bool().value_or(false);
        agreed.resources = said["resourcesListChanged"].if_bool().value_or(false);
        for (const json::value& uri : said["resourceSubscriptions"].items()) {
            if (auto text = uri.if_string()) agreed.uris.emplace_back(*text);
        }
        each->state->set_agreed(std::move(agreed));
        each->acknowledged = true;
        auto keep = each;
        keep->answered.set();
        return;
    }
}

void client_session::tell(const change& what, const json::value& params) {
    if (modern_) {
        auto id = params["_meta"]["io.modelcontextprotocol/subscriptionId"].if_int();
        for (const auto& each : listens) {
            if (id && each->call == static_cast<rpc::serial>(*id)) return each->state->push(what);
        }
        return;
    }
    for (const auto& each : subscribers) {
        if (wants(each.wants, what)) each.state->push(what);
    }
}

void client_session::end_subscriptions(const std::string& why) {
    auto all = std::exchange(subscribers, {});
    subscribed_uris.clear();
    granted_uris.clear();
    asked_uris.clear();
    for (const auto& each : all) {
        each.state->finish(closing_ ? subscription_end::ended : subscription_end::lost, why);
    }
}

// ---- the end ----

void client_session::on_turn_end() noexcept {
    if (peer_ && peer_->core().closing()) user_->on_connection_lost(*this);
}

void client_session::on_closed(std::string_view cause, std::size_t) {
    user_->on_connection_lost(*this);
    keep_alive_.end();
    gone_.request_stop();
    cause_ = cause;
    if (cause_.empty() && !closing_) cause_ = "the server closed the connection";
    auto wait = [](std::shared_ptr<client_session> self) -> task<void> { co_await self->link_->ended(); };
    detail::start(ending_, wait(shared_from_this()), [self = shared_from_this()](detail::outcome<void> o) {
        if (o.index() == 0) self->environment_.log(log_level::warning, "waiting for the end of the connection failed");
        if (std::string more = self->link_->exit_description(); !more.empty()) {
            self->cause_ = self->closing_ ? more : self->cause_ + "; " + more;
        }
        self->end_subscriptions(self->cause_);
        detail::release_later(*self->environment_.on, std::exchange(self->self_, nullptr));
        // Pending calls fail before on_disconnected is called (D1).
        self->over.set();
        self->user_->on_session_ended(*self, self->closing_ ? std::string() : self->cause_);
        self->end_reported.set();
    });
}

// A task of its own, so that the caller can stop waiting.
task<void> end_of(session_ptr s) { co_await s->over; }

task<std::string> describe_loss(session_ptr s, std::string said, duration patience) {
    co_await async::completes_within(patience, end_of(s));
    if (s->cause().empty()) co_return said;
    co_return "connection closed: " + s->cause();
}

}  // namespace keel::client_side
