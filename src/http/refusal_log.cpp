#include "http/refusal_log.hpp"

#include "http/http_connection.hpp"
#include "http/http_server_core.hpp"
#include "http_common/reason_phrase.hpp"

#include <string>

namespace keel::inline KEEL_ABI::http {

namespace {

/// The message of a JSON-RPC error. Other bodies may be contents of the application.
std::string reason_in(std::string_view body) {
    if (!body.starts_with(R"({"jsonrpc")")) return {};
    json::document document;
    const json::value* answer = document.read(body);
    if (!answer) return {};
    return std::string((*answer)["error"]["message"].if_string().value_or(""));
}

}  // namespace

void log_refusal(const http_connection& c, int status, std::string_view line, std::string_view body) {
    const server_side::server_core& server = c.worker().shared.server->core();
    const bool administrator = status == 403 || status == 421 || status == 429 || status >= 500;
    const log_level level = administrator ? log_level::warning : log_level::info;
    if (!server.logs(level)) return;
    const std::string reason = reason_in(body);
    std::string text = line.empty() ? "HTTP request" : rpc::printable(line, 150);
    text += " refused: " + std::to_string(status) + " ";
    text += reason.empty() ? std::string(reason_phrase(status)) : rpc::printable(reason, 500);
    ip_address::text_buffer room{};
    log_record record{.level = level, .message = text};
    record.status = status;
    record.reason = reason;
    record.address = c.client().text_in(room);
    if (const auto& principal = c.admitted().principal) record.principal = *principal;
    server.report(record);
}

}  // namespace keel::http
