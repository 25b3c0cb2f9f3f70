// Revision 2026-07-28: no handshake; every request contains its version and capabilities.

#include "server/server_session.hpp"
#include "server/version_checks.hpp"

namespace keel::inline KEEL_ABI::server_side {

void server_session::on_modern(rpc::serial id, std::string_view method, const json::value& params,
                               const json::value& meta) {
    auto version = read_version(meta);
    if (!version) return peer_->finish(id, invalid_meta(meta));
    if (!protocol::is_modern(*version)) {
        return peer_->finish(id, unsupported_version(*version, era_ == era::legacy   ? only_version(client_->revision)
                                                               : era_ == era::modern ? modern_versions()
                                                                                     : all_versions()));
    }
    if (era_ == era::legacy) {
        std::string why = "this connection was initialized with protocol version " +
                          std::string(protocol::name_of(client_->revision));
        return peer_->finish(id, unsupported_version(*version, only_version(client_->revision), why));
    }
    // server/discover does not fix the revision: the client may still send initialize.
    if (method != "server/discover") era_ = era::modern;
    serve({id, protocol::find_method(method), method, params, protocol::latest});
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
