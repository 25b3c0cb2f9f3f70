// Why there is no server to talk to.

#include "exit_status.hpp"
#include "http_refusal.hpp"
#include "nonsense.hpp"

#include <keel/error.hpp>

namespace keel::command {

namespace {

/// Somebody is there, and has never heard of such a thing: not of this address, not of our requests.
bool is_no_mcp_status(int http_status) {
    switch (http_status) {
        case 401:
        case 403:  // who knows
        case 408:
        case 425:
        case 429: return false;  // later perhaps
        default: return (http_status >= 400 && http_status < 500) || http_status == 501;
    }
}

failure of(const error& e, const std::string& where, const nonsense& misheard) {
    std::string heard = misheard.text();
    if (is_http_refusal(e)) {
        if (e.kind() == error_kind::unauthorized)
            return {exit_status::rejected, where + " does not let us in: " + http_refusal(e), {}};
        const char* is = is_no_mcp_status(e.http_status()) ? "no MCP server at " : "no answer from the server at ";
        return {exit_status::lost, is + where + ": " + http_refusal(e), {}};
    }
    bool unknown = e.kind() == error_kind::rejected && e.code() == error_code::method_not_found;
    if (unknown || (e.kind() == error_kind::timed_out && !heard.empty())) {
        return {exit_status::lost,
                where + " is no MCP server: " + (heard.empty() ? "it does not know how to introduce itself" : heard),
                {}};
    }
    // Not how much: it may have been started twice, since some servers die of a question they do not know.
    if (std::string first = misheard.first(); e.kind() == error_kind::closed && !first.empty()) {
        return {exit_status::lost,
                std::string(e.what()) + "; before that it wrote something that is no message: " + first,
                {}};
    }
    return describe_failure();
}

}  // namespace

failure describe_failed_connect(const std::string& where, const nonsense& heard) {
    try {
        throw;
    } catch (const error& e) {
        return of(e, where, heard);
    } catch (const std::exception&) {
        return describe_failure();
    }
}

}  // namespace keel::command
