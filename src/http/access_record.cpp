#include "http/access_record.hpp"

#include "protocol/methods.hpp"
#include "protocol/revision.hpp"
#include "server/server_core.hpp"

#include <exception>

namespace keel::inline KEEL_ABI::http {

namespace {

constexpr std::size_t max_path = 200;

bool is_known(std::string_view method, const server_side::server_core& server) {
    if (protocol::find_method(method) != protocol::method::other || method == "initialize") return true;
    for (std::string_view each : {"notifications/initialized", "notifications/cancelled", "notifications/progress",
                                  "notifications/roots/list_changed"}) {
        if (method == each) return true;
    }
    return server.methods.snapshot()->find(method) != nullptr || server.find_notification(method) != nullptr;
}

}  // namespace

void access_record::begin() {
    if (begun_) return;
    now_ = {};
    begun_ = true;
    now_.since = std::chrono::steady_clock::now();
}

void access_record::begin(const request& r) {
    if (begun_) return;
    begin();
    now_.http_method = r.method.substr(0, max_path);
    now_.path = r.path.substr(0, max_path);
    if (auto named = protocol::find_revision(r.get(known::mcp_protocol_version)))
        now_.revision = protocol::name_of(*named);
}

message_names message_names::of(const rpc::message& m, const server_side::server_core& server) {
    message_names names;
    if (m.kind == rpc::message_kind::response) {
        names.method = "response";
    } else {
        names.method = is_known(m.method, server) ? std::string_view(m.method) : "other";
    }
    if (m.method != "tools/call" || !m.params) return names;
    auto name = (*m.params)["name"].if_string();
    if (name && server.tools.snapshot()->find(*name)) names.tool = *name;
    return names;
}

void access_record::end(std::string_view principal, const ip_address& client) {
    if (!begun_) return;
    begun_ = false;
    ip_address::text_buffer room{};
    access_entry entry;
    entry.time = std::chrono::system_clock::now();
    entry.http_method = now_.http_method;
    entry.path = now_.path;
    entry.method = now_.message.method;
    entry.tool = now_.message.tool;
    entry.status = now_.status;
    entry.bytes_in = now_.bytes_in;
    entry.bytes_out = now_.bytes_out;
    entry.took = std::chrono::steady_clock::now() - now_.since;
    entry.principal = principal;
    entry.address = client.text_in(room);
    entry.revision = now_.revision;
    try {
        to_(entry);
    } catch (const std::exception&) {  // there is no way to report a failure of the log
    }
}

}  // namespace keel::http
