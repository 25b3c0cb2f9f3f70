// Revisions 2024-11-05 to 2025-11-25, which begin with a handshake.

#include "server/server_session.hpp"
#include "server/version_checks.hpp"

namespace keel::inline KEEL_ABI::server_side {

void server_session::on_legacy(rpc::serial id, std::string_view method, const json::value& params) {
    if (method == "initialize") return initialize(id, params);
    if (method == "ping" && era_ == era::unknown) return peer_->finish(id, "{}");
    if (era_ == era::modern || method == "server/discover") {
        if (era_ == era::legacy) return unknown_method(id, method);
        return peer_->finish(id, missing_version());
    }
    if (era_ == era::unknown) return reject(id, error_code::invalid_request, "not initialized");

    serve({id, protocol::find_method(method), method, params, client_->revision});
}

void server_session::initialize(rpc::serial id, const json::value& params) {
    peer_->core().shield(id);  // initialize cannot be cancelled (B10)
    auto asked = params["protocolVersion"].if_string();
    if (era_ == era::modern) {
        // A connection that uses 2026-07-28 cannot change to an older revision.
        std::string why = "this connection uses protocol version " + std::string(protocol::name_of(protocol::latest));
        return peer_->finish(id, unsupported_version(asked.value_or(""), modern_versions(), why));
    }
    const bool again = era_ == era::legacy && !stateless_;
    if (again && own_streams_) return peer_->finish(id, already_initialized());  // H17: one HTTP session has one client
    if (peer_->core().in_batch(id))
        return reject(id, error_code::invalid_request, "initialize cannot be part of a batch");
    if (!asked) return reject(id, error_code::invalid_params, "protocolVersion: expected string");
    if (!params["capabilities"].is_object())
        return reject(id, error_code::invalid_params, "capabilities: expected object");
    if (!params["clientInfo"].is_object()) return reject(id, error_code::invalid_params, "clientInfo: expected object");

    revision agreed = protocol::find_legacy_revision(*asked).value_or(protocol::latest_legacy);
    auto facts = std::make_shared<detail::client_facts>();
    facts->revision = agreed;
    facts->info = params["clientInfo"];
    facts->capabilities = params["capabilities"];
    // A bridge that shares one server between its clients sends initialize for each of them. Running requests keep the facts with which
    // they started. The log level and the subscriptions belong to the connection, and so does the permission to ask: requests that run
    // between this initialize and its notifications/initialized are those of other clients, which are ready.
    if (again) {
        facts->log_level = client_->log_level.load();
        facts->confirmed = client_->confirmed.load();
    }
    client_ = std::move(facts);
    era_ = era::legacy;
    peer_->core().allow_batches(protocol::has_batches(agreed));

    std::string result = R"({"protocolVersion":")";
    result += protocol::name_of(agreed);
    result += R"(","capabilities":)";
    result += server_->capabilities(agreed);
    result += R"(,"serverInfo":)";
    result += server_->info_json(agreed);
    if (!server_->options.instructions.empty()) {
        result += R"(,"instructions":)";
        if (!json::write_string(result, server_->options.instructions)) result += R"("")";
    }
    result += '}';
    // Not over HTTP: idle clients are normal there and may have no stream for a ping; their sessions expire instead.
    if (!own_streams_ && !again) {
        keep_alive_.start(peer_, server_->options.keep_alive, [server = server_](rpc::peer& silent) {
            server->log(log_level::warning, "connection closed: the client did not answer a ping");
            silent.close();
        });
    }
    if (!stateless_) subscriber_.begin_legacy(agreed, server_->offers_resources(), server_->offers_prompts());
    peer_->finish(id, result);
}

void server_session::be_stateless(revision r) {
    stateless_ = true;
    era_ = era::legacy;
    client_ = std::make_shared<detail::client_facts>();
    client_->revision = r;
}

void server_session::set_log_level(const incoming& in) {
    auto named = in.params["level"].if_string();
    auto level = named ? find_log_level(*named) : std::nullopt;
    if (!level) throw error(error_code::invalid_params, "level: invalid log level");
    client_->log_level = static_cast<int>(*level);
}

}  // namespace keel::server_side
