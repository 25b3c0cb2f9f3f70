// Revision 2026-07-28: no handshake; every request contains its version and capabilities.

#include "server/server_session.hpp"

namespace keel::inline KEEL_ABI::server_side {

void server_session::on_modern(rpc::serial id, std::string_view method, const json::value& params,
                               const json::value& meta) {
    auto version = meta[protocol::meta_key::protocol_version].if_string();
    if (!version) {
        return reject(id, error_code::invalid_params,
                      "_meta." + std::string(protocol::meta_key::protocol_version) + ": expected string");
    }
    if (!meta[protocol::meta_key::client_capabilities].is_object()) {
        return reject(id, error_code::invalid_params,
                      "_meta." + std::string(protocol::meta_key::client_capabilities) + ": expected object");
    }
    if (*version != protocol::name_of(protocol::latest)) {
        return refuse_version(id, "unsupported protocol version", *version);
    }
    if (era_ == era::legacy) {
        return refuse_version(id,
                              "this connection was initialized with protocol version " +
                                  std::string(protocol::name_of(client_->revision)),
                              *version);
    }
    // server/discover does not fix the revision: the client may still send initialize.
    if (method != "server/discover") era_ = era::modern;
    serve({id, protocol::find_method(method), method, params, protocol::latest});
}

void server_session::refuse_version(rpc::serial id, std::string_view message, std::string_view requested) {
    json::value supported = json::array();
    if (era_ == era::legacy) {
        supported.push_back(protocol::name_of(client_->revision));
    } else {
        // A connection that uses 2026-07-28 cannot change to an older revision.
        for (std::size_t i = protocol::revision_count; i-- > 0;) {
            auto r = static_cast<revision>(i);
            if (era_ != era::modern || protocol::is_modern(r)) supported.push_back(protocol::name_of(r));
        }
    }
    reject(id, error_code::unsupported_protocol_version, std::string(message),
           json::object({{"supported", std::move(supported)}, {"requested", requested}}));
}

void server_session::discover(const incoming& in, std::string& out) {
    out += R"({"resultType":"complete","supportedVersions":[)";
    for (std::size_t i = protocol::revision_count; i-- > 0;) {
        out += '"';
        out += protocol::revision_names[i];
        out += i > 0 ? R"(",)" : R"(")";
    }
    out += R"(],"capabilities":)";
    out += server_->capabilities(in.rev);
    if (!server_->options.instructions.empty()) {
        out += R"(,"instructions":)";
        if (!json::write_string(out, server_->options.instructions)) out += R"("")";
    }
    write_cache_hint(out, server_->hint_for(method::server_discover));
    end_result(out, in.rev, *server_);
}

}  // namespace keel::server_side
