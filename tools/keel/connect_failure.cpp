// Error messages for a failed connect.

#include "exit_status.hpp"
#include "http_error_text.hpp"
#include "unexpected_output.hpp"

#include <keel/error.hpp>

namespace keel::command {

namespace {

/// True if this status means that the HTTP server has no MCP endpoint at this URL.
bool is_no_mcp_status(int http_status) {
    switch (http_status) {
        case 401:
        case 403:
        case 408:
        case 425:
        case 429: return false;  // try again later
        default: return (http_status >= 400 && http_status < 500) || http_status == 501;
    }
}

failure of(const error& e, const std::string& where, const unexpected_output& unexpected) {
    std::string heard = unexpected.text();
    if (is_http_error(e)) {
        if (e.kind() == error_kind::unauthorized)
            return {exit_status::rejected, where + " refused the request: " + http_error_text(e), {}, e.http_status()};
        const char* is = is_no_mcp_status(e.http_status()) ? "no MCP server at " : "the server is unavailable: ";
        return {exit_status::lost, is + where + ": " + http_error_text(e), {}};
    }
    bool unknown = e.kind() == error_kind::rejected && e.code() == error_code::method_not_found;
    if (unknown || (e.kind() == error_kind::timed_out && !heard.empty())) {
        return {exit_status::lost,
                where + " is not an MCP server: " + (heard.empty() ? "it does not support initialize" : heard),
                {}};
    }
    // Do not print the number of lines: the program may have been started twice, since some servers exit on an unknown
    // request.
    if (std::string first = unexpected.first(); e.kind() == error_kind::closed && !first.empty()) {
        return {exit_status::lost,
                std::string(e.what()) + "; before that it wrote a line that is not an MCP message: " + first,
                {}};
    }
    return describe_failure();
}

}  // namespace

failure describe_failed_connect(const std::string& where, const unexpected_output& heard) {
    try {
        throw;
    } catch (const error& e) {
        return of(e, where, heard);
    } catch (const std::exception&) {
        return describe_failure();
    }
}

}  // namespace keel::command
