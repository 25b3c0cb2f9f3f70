#include "client/declared_capabilities.hpp"

#include "client/shared_state.hpp"

namespace keel::inline KEEL_ABI::client_side {

protocol::client_capabilities declared_capabilities(const client_options& options, const shared_state& shared,
                                                    bool modern) {
    protocol::client_capabilities can;
    if (shared.offers_roots()) {
        can.roots.emplace();
        if (!modern) can.roots->list_changed = true;
    }
    if (options.on_sampling) {
        can.sampling.emplace();
        if (options.sampling_with_tools) can.sampling->tools = json::object();
    }
    if (options.on_form || options.on_url) {
        can.elicitation.emplace();
        if (options.on_form) can.elicitation->form = json::object();
        if (options.on_url) can.elicitation->url = json::object();
    }
    can.extensions = options.extensions;
    return can;
}

}  // namespace keel::client_side
