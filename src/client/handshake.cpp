#include "client/handshake.hpp"

#include "async/start_task.hpp"
#include "async/timeout.hpp"
#include "client/client_environment.hpp"
#include "client/client_session.hpp"
#include "client/declared_capabilities.hpp"
#include "client/shared_state.hpp"
#include "protocol/messages.hpp"
#include "protocol/revisions.hpp"

#include <algorithm>

namespace keel::inline KEEL_ABI::client_side {

namespace {

using versions = std::vector<std::string>;

// Some servers answer the GET request for the event stream only with their first event.
constexpr duration time_to_listen = std::chrono::milliseconds(300);

/// The newest revision of that era that both sides support.
std::optional<protocol::revision> newest_common(const versions& theirs, bool modern) {
    for (std::size_t i = protocol::revision_count; i-- > 0;) {
        auto r = static_cast<protocol::revision>(i);
        if (protocol::is_modern(r) != modern) continue;
        if (std::find(theirs.begin(), theirs.end(), protocol::name_of(r)) != theirs.end()) return r;
    }
    return std::nullopt;
}

versions texts(const json::value& list) {
    versions all;
    for (const json::value& each : list.items()) {
        if (auto text = each.if_string()) all.emplace_back(*text);
    }
    return all;
}

std::string joined(const versions& all) {
    std::string text;
    for (const std::string& each : all) text += (text.empty() ? "" : ", ") + rpc::printable(each, 40);
    return text;
}

[[noreturn]] void throw_no_common(const versions& theirs) {
    throw keel::error(error_kind::unavailable, "no common protocol version: the server supports " + joined(theirs));
}

// Redirects and server errors (3xx, 5xx) do not tell which revisions the server supports.
bool is_inconclusive(const keel::error& e) noexcept {
    int status = e.http_status();
    return (status >= 300 && status < 400) || status >= 500;
}

// Protocol mode `modern`: reports the rejection. Its cause may be an older server or something else.
[[noreturn]] void throw_refused(const keel::error& e) {
    keel::error why(
        error_kind::unavailable,
        "the server rejected protocol version 2026-07-28, and the client's protocol mode allows no other: " +
            rpc::printable(e.what(), 500),
        e.code());
    why.set_http_status(e.http_status());
    throw why;
}

/// Closes a session that the client does not adopt.
class until_adopted {
public:
    explicit until_adopted(session_ptr s) noexcept : session_(std::move(s)) {}
    until_adopted(const until_adopted&) = delete;
    until_adopted& operator=(const until_adopted&) = delete;
    ~until_adopted() {
        if (session_) session_->close();
    }
    void replace(session_ptr s) noexcept { session_ = std::move(s); }
    void release() noexcept { session_.reset(); }

private:
    session_ptr session_;
};

implementation about_server(const json::value& result) {
    // It belongs in `_meta`; some servers put it into the result itself.
    const json::value* said = result["_meta"].find(protocol::meta_key::server_info);
    if (!said) said = result.find("serverInfo");
    implementation about;
    decode_error ignored;
    if (said && !decode(*said, about, ignored)) about = {};
    return about;
}

// All clients of this process share what is known about the era of an HTTP origin. A child process or socket is probed at each
// connect, which costs one local round trip.
std::shared_ptr<era_memory> memory_for(const client_options& o, const connector& where) {
    if (o.eras) return o.eras;
    if (!where.is_http()) return std::make_shared<era_memory>();
    static const std::shared_ptr<era_memory> of_all = std::make_shared<era_memory>();
    return of_all;
}

}  // namespace

handshake::handshake(const client_environment& environment, shared_state& shared)
    : environment_(environment), shared_(shared), eras_(memory_for(environment.options, *environment.where)) {}

task<session_ptr> handshake::open(const session_starter& start, session_ptr& s) {
    const client_options& options = environment_.options;
    const std::string who = environment_.where->identity();
    const bool automatic = options.mode == protocol_mode::automatic;
    bool ask_first = options.mode == protocol_mode::modern || (automatic && eras_->is_modern(who).value_or(true));
    s = co_await start();
    until_adopted guard(s);
    bool replaced = false;  // a child process that the probe had confused
    for (bool probed_again = false;; probed_again = true) {
        bool probed = ask_first;  // this session
        if (ask_first) {
            verdict v = co_await probe(s);
            if (v == verdict::modern) {
                eras_->remember(who, true);
                guard.release();
                co_return s;
            }
            if (!automatic) {
                throw keel::error(error_kind::unavailable,
                                  "the server supports only protocol versions before 2026-07-28, and the client's "
                                  "protocol mode excludes them");
            }
            if (!s->open()) {  // some servers exit on an unknown request
                s = co_await start();
                guard.replace(s);
                probed = false;
            }
        }
        enum class reaction : unsigned char { adopt, probe, replace } next = reaction::adopt;
        try {
            co_await initialize_with_fallback(s);
        } catch (const keel::error& e) {
            bool modern_after_all = e.code() == error_code::unsupported_protocol_version;
            // A stdio bridge takes the probe as the first request, initializes its server itself, and rejects our initialize.
            bool confused = probed && !replaced && !modern_after_all && environment_.where->starts_process() &&
                            (e.kind() == error_kind::rejected || e.kind() == error_kind::bad_message ||
                             e.kind() == error_kind::closed);
            // The remembered era is outdated, or the probe timed out. An unreachable or failing server says nothing about its
            // era.
            bool no_legacy =
                (e.kind() == error_kind::rejected && !is_inconclusive(e)) || e.kind() == error_kind::bad_message;
            bool again = automatic && !probed_again && (modern_after_all || (!ask_first && no_legacy));
            if (!again && !confused) throw;
            next = confused ? reaction::replace : reaction::probe;
        }
        if (next == reaction::adopt) {
            eras_->remember(who, false);
            restore_level(s);
            guard.release();
            co_return s;
        }
        if (next == reaction::replace) {
            replaced = true;
            session_ptr confused = s;
            confused->close();
            co_await end_of(confused);  // both processes may need the same file or port
            s = co_await start();
            guard.replace(s);
            ask_first = false;
            continue;
        }
        eras_->forget(who);
        ask_first = true;
        if (!s->open()) {
            s = co_await start();
            guard.replace(s);
        }
    }
}

task<handshake::verdict> handshake::probe(session_ptr s) {
    const client_options& options = environment_.options;
    const bool http = s->via().is_http();
    std::string version(options.version.empty() ? protocol::name_of(protocol::latest) : options.version);
    for (bool corrected = false;; corrected = true) {
        s->speak_modern(version);
        rpc::peer::call_options_with_progress how;
        // Only without HTTP does a missing response mean an older server: a proxy may delay a response.
        how.idle = http ? options.connect_timeout : options.probe_timeout;
        how.total = how.idle;
        how.want_progress = false;
        how.cancellable = false;
        json::value result;
        versions offered;
        try {
            rpc::call_params params{{}, s->meta()};
            result = co_await rpc::peer::ask_text(s->shared_peer(), "server/discover", params, how);
        } catch (const keel::error& e) {
            // Without a fallback to the other era, the error is final.
            bool proper_refusal = e.kind() == error_kind::rejected && !is_inconclusive(e);
            if (options.mode != protocol_mode::automatic && !proper_refusal) throw;
            switch (e.kind()) {
                case error_kind::rejected: {
                    int code = e.code();
                    if (code == error_code::header_mismatch || code == error_code::missing_client_capability) throw;
                    if (code != error_code::unsupported_protocol_version) {
                        if (is_inconclusive(e)) throw;
                        if (options.mode == protocol_mode::modern) throw_refused(e);
                        co_return verdict::legacy;
                    }
                    offered = texts(e.data()["supported"]);
                    break;
                }
                case error_kind::timed_out:
                case error_kind::closed:
                    if (http) throw;
                    co_return verdict::legacy;
                case error_kind::bad_message: co_return verdict::legacy;
                default: throw;
            }
        }
        if (result.is_null()) {
            auto common = newest_common(offered, true);
            bool pinned_elsewhere = common && !options.version.empty() && protocol::name_of(*common) != options.version;
            if (common && !corrected && !pinned_elsewhere) {
                version = protocol::name_of(*common);
                continue;
            }
            if (!common && newest_common(offered, false)) co_return verdict::legacy;
            throw_no_common(offered);
        }
        protocol::discover_result said;
        decode_error why;
        if (!decode(result, said, why)) {
            std::string problem = "invalid server/discover result: " + why.message();
            if (options.mode != protocol_mode::automatic) throw keel::error(error_kind::bad_message, problem);
            environment_.log(log_level::info, problem);
            co_return verdict::legacy;
        }
        bool spoken = std::find(said.supported_versions.begin(), said.supported_versions.end(), version) !=
                      said.supported_versions.end();
        if (!spoken) {
            auto common = newest_common(said.supported_versions, true);
            if (!common || !options.version.empty()) {
                if (options.version.empty() && newest_common(said.supported_versions, false)) {
                    co_return verdict::legacy;
                }
                throw_no_common(said.supported_versions);
            }
            version = protocol::name_of(*common);
            s->speak_modern(version);
        }
        server_facts facts;
        facts.protocol_version = version;
        facts.modern = true;
        facts.about = about_server(result);
        facts.capabilities = result["capabilities"];
        facts.instructions = said.instructions;
        s->capabilities = facts.capabilities;
        shared_.set_facts(std::move(facts));
        co_return verdict::modern;
    }
}

task<void> handshake::initialize_with_fallback(session_ptr s) {
    std::exception_ptr refused;
    try {
        co_await initialize(s);
    } catch (const keel::error& e) {
        int status = e.http_status();
        bool modern = e.code() == error_code::header_mismatch || e.code() == error_code::missing_client_capability ||
                      e.code() == error_code::unsupported_protocol_version;
        if (e.kind() != error_kind::rejected || status < 400 || status >= 500 || modern) throw;
        refused = std::current_exception();
    }
    if (!refused) co_return;
    bool found = co_await s->via().fall_back_to_old_transport();
    if (!found) std::rethrow_exception(refused);
    co_await initialize(s);
}

task<void> handshake::initialize(session_ptr s) {
    const client_options& options = environment_.options;
    s->speak_legacy({});
    protocol::initialize_params params;
    params.protocol_version = options.version.empty() ? protocol::name_of(protocol::latest_legacy) : options.version;
    params.capabilities = declared_capabilities(options, shared_, false);
    params.client_info = options.about;
    s->declared_roots = params.capabilities.roots.has_value();
    json::value given = protocol::encode_for(protocol::latest_legacy, params);
    rpc::peer::call_options_with_progress how;
    how.idle = options.connect_timeout;
    how.total = options.connect_timeout;
    how.want_progress = false;
    json::value result = co_await rpc::peer::ask(s->shared_peer(), nullptr, "initialize", std::move(given), how);
    protocol::initialize_result said;
    decode_error why;
    if (!decode(result, said, why)) {
        throw keel::error(error_kind::bad_message, "invalid initialize result: " + why.message());
    }
    auto agreed = protocol::find_revision(said.protocol_version);
    bool acceptable = agreed && !protocol::is_modern(*agreed) &&
                      (options.version.empty() || options.version == said.protocol_version);
    if (!acceptable) throw_no_common({said.protocol_version});  // LIFE-09: the session is closed
    s->speak_legacy(*agreed);
    s->peer().notify("notifications/initialized", {}, false);
    s->via().session_opened();

    server_facts facts;
    facts.protocol_version = said.protocol_version;
    facts.about = std::move(said.server_info);
    facts.capabilities = result["capabilities"];
    facts.instructions = std::move(said.instructions);
    s->capabilities = facts.capabilities;
    shared_.set_facts(std::move(facts));
    // The notification stream should be open before the first call can cause notifications.
    co_await async::completes_within(time_to_listen, s->via().listening());
}

void handshake::restore_level(session_ptr s) {
    async::start_task(*environment_.on, send_level(std::move(s)),
                      [held = environment_.shared_from_this()](detail::outcome<void>) {});
}

task<void> handshake::send_level(session_ptr s) {
    auto level = shared_.wanted_level();
    if (!level || s->modern() || s->capabilities["logging"].is_null()) co_return;
    json::value wanted = json::object({{"level", name_of(*level)}});
    rpc::peer::call_options_with_progress how;
    try {
        co_await rpc::peer::ask(s->shared_peer(), nullptr, "logging/setLevel", std::move(wanted), how);
    } catch (const keel::error& e) {
        environment_.log(log_level::warning, std::string("the server rejected the log level: ") + e.what());
    }
}

}  // namespace keel::client_side
