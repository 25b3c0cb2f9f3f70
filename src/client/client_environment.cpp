#include "client/client_environment.hpp"

#include "client/shared_state.hpp"
#include "protocol/meta_keys.hpp"
#include "protocol/revision.hpp"

#include <keel/version.hpp>

#include <stdexcept>

namespace keel::inline KEEL_ABI::client_side {

namespace {

client_options validated(client_options o) {
    if (o.roots) check_roots(*o.roots);
    if (o.about.name.empty()) o.about.name = "keel-client";
    if (o.about.version.empty()) o.about.version = KEEL_VERSION;
    for (const auto& [id, settings] : o.extensions) {
        if (!protocol::is_valid_extension_id(id)) {
            throw std::invalid_argument("keel: client extension \"" + rpc::printable(id) +
                                        "\": an identifier has a prefix, as in com.example/name");
        }
        if (!settings.is_object()) {
            throw std::invalid_argument("keel: client extension \"" + id + "\": settings must be a JSON object");
        }
    }
    if (o.version.empty()) return o;
    auto revision = protocol::find_revision(o.version);
    if (!revision) throw std::invalid_argument("keel: unknown protocol version: " + o.version);
    bool modern = protocol::is_modern(*revision);
    if (o.mode == protocol_mode::automatic) o.mode = modern ? protocol_mode::modern : protocol_mode::legacy;
    if (modern != (o.mode == protocol_mode::modern)) {
        throw std::invalid_argument("keel: protocol version " + o.version +
                                    " does not belong to the selected protocol mode");
    }
    return o;
}

}  // namespace

client_environment::client_environment(std::shared_ptr<loop> l, std::shared_ptr<connector> c, client_options o)
    : on(std::move(l)), where(std::move(c)), options(validated(std::move(o))) {}

void client_environment::log(log_level level, std::string_view text) const {
    if (!options.log.wants(level)) return;
    try {
        options.log(level, text);
    } catch (abi::__forced_unwind&) {
        throw;
    } catch (...) {  // a log callback that throws cannot be reported anywhere
        return;
    }
}

}  // namespace keel::client_side
