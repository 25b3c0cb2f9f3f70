#include "client/server_notification_handler.hpp"

#include "client/client_environment.hpp"
#include "client/client_session.hpp"
#include "client/open_elicitations.hpp"
#include "client/response_cache.hpp"
#include "client/tool_catalog.hpp"
#include "protocol/messages.hpp"

namespace keel::inline KEEL_ABI::client_side {

void server_notification_handler::on_notification(client_session& from, std::string_view method,
                                                  const json::value& params) {
    const client_options& options = environment_.options;
    cache_.on_notification(method, params);
    auto changed = [&](change::kind what, list_kind which) {
        if (which == list_kind::tools) tools_.clear();
        change c;
        c.what = what;
        from.tell(c, params);
        if (options.on_list_changed) {
            environment_.catch_and_log("the on_list_changed callback", [&] { options.on_list_changed(which); });
        }
    };
    if (method == "notifications/tools/list_changed") return changed(change::kind::tools, list_kind::tools);
    if (method == "notifications/prompts/list_changed") return changed(change::kind::prompts, list_kind::prompts);
    if (method == "notifications/resources/list_changed") {
        return changed(change::kind::resources, list_kind::resources);
    }
    if (method == "notifications/resources/updated") {
        auto uri = params["uri"].if_string();
        if (!uri) return;
        change c;
        c.what = change::kind::resource;
        c.uri = *uri;
        from.tell(c, params);
        if (options.on_resource_updated) {
            environment_.catch_and_log("the on_resource_updated callback", [&] { options.on_resource_updated(*uri); });
        }
        return;
    }
    if (method == "notifications/message") {
        if (!options.on_log) return;
        protocol::log_message_params said;
        decode_error why;
        if (!decode(params, said, why))
            return environment_.log(log_level::info, "invalid log message from the server: " + why.message());
        server_log entry;
        entry.level = said.level;
        entry.logger = std::move(said.logger);
        entry.data = std::move(said.data);
        return environment_.catch_and_log("the on_log callback", [&] { options.on_log(entry); });
    }
    if (method == "notifications/subscriptions/acknowledged") return from.acknowledge(params);
    if (method == "notifications/elicitation/complete") {
        auto id = params["elicitationId"].if_string();
        if (!id || !elicitations_.complete(*id)) return;  // ELI-16
        if (options.on_elicitation_complete) {
            environment_.catch_and_log("the on_elicitation_complete callback",
                                       [&] { options.on_elicitation_complete(*id); });
        }
        return;
    }
    if (options.on_notification)
        environment_.catch_and_log("the on_notification callback", [&] { options.on_notification(method, params); });
}

}  // namespace keel::client_side
