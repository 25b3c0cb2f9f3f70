#include "server/version_checks.hpp"

#include <keel/error.hpp>

#include <string>

namespace keel::inline KEEL_ABI::server_side {

namespace meta_key = protocol::meta_key;

const json::value* modern_meta(const json::value& params) noexcept {
    const json::value* meta = params.find("_meta");
    return meta && meta->contains(meta_key::protocol_version) ? meta : nullptr;
}

std::optional<std::string_view> read_version(const json::value& meta) noexcept {
    if (!meta[meta_key::client_capabilities].is_object()) return std::nullopt;
    return meta[meta_key::protocol_version].if_string();
}

rpc::failure invalid_meta(const json::value& meta) {
    bool named = meta[meta_key::protocol_version].if_string().has_value();
    std::string_view member = named ? meta_key::client_capabilities : meta_key::protocol_version;
    return {error_code::invalid_params,
            "_meta." + std::string(member) + (named ? ": expected object" : ": expected string"),
            {}};
}

rpc::failure missing_version() {
    return {error_code::invalid_params, "_meta is missing " + std::string(meta_key::protocol_version), {}};
}

json::value all_versions() {
    json::value all = json::array();
    for (std::size_t i = protocol::revision_count; i-- > 0;) all.push_back(protocol::revision_names[i]);
    return all;
}

json::value modern_versions() { return only_version(protocol::latest); }

json::value only_version(protocol::revision r) { return json::array({protocol::name_of(r)}); }

rpc::failure unsupported_version(std::string_view requested, json::value supported, std::string_view message) {
    return {error_code::unsupported_protocol_version, std::string(message),
            json::object({{"supported", std::move(supported)}, {"requested", requested}})};
}

rpc::failure already_initialized() { return {error_code::invalid_request, "already initialized", {}}; }

}  // namespace keel::server_side
