// The parts that all results and failures share.

#include "rpc/message.hpp"
#include "rpc/peer.hpp"
#include "server/call_state.hpp"
#include "server/invocation.hpp"

#include <keel/resource.hpp>
#include <keel/tool.hpp>

namespace keel::inline KEEL_ABI {

resource_not_found::resource_not_found(std::string uri)
    : error(error_code::resource_not_found, "resource not found", json::object({{"uri", uri}})), uri_(std::move(uri)) {}
resource_not_found::~resource_not_found() = default;  // see src/async/error.cpp

}  // namespace keel

namespace keel::inline KEEL_ABI::server_side {

std::string join(const result_text& around, std::string content) {
    content.reserve(around.before.size() + content.size() + around.after.size());
    content.insert(0, around.before);
    content += around.after;
    return content;
}

void end_result(std::string& out, protocol::revision rev, const server_core& server, std::string_view meta) {
    bool modern = protocol::is_modern(rev);
    if (meta.size() > 2) {  // not {}
        out += R"(,"_meta":)";
        out += meta.substr(0, meta.size() - 1);
        if (modern) {
            out += ',';
            out += server.server_info_member();
        }
        out += "}}";
    } else if (modern) {
        out += server.modern_tail();
    } else {
        out += '}';
    }
}

void write_cache_hint(std::string& out, const cache_hint& hint) {
    out += R"(,"ttlMs":)";
    json::write_int(out, hint.ttl.count());
    out += hint.shared ? R"(,"cacheScope":"public")" : R"(,"cacheScope":"private")";
}

namespace {

/// Replaces error codes that the revision does not define (BASE-13, BASE-14).
void fit_code(rpc::failure& f, protocol::revision rev) {
    if (protocol::is_modern(rev)) {
        bool of_the_protocol = f.code >= -32099 && f.code <= -32020;
        bool known = f.code == error_code::missing_client_capability ||
                     f.code == error_code::unsupported_protocol_version || f.code == error_code::header_mismatch;
        if (f.code == error_code::resource_not_found) f.code = error_code::invalid_params;
        else if (of_the_protocol && !known) f.code = error_code::internal;
    } else if (f.code == error_code::url_elicitation_required && !protocol::has_elicitation_ids(rev)) {
        f.code = error_code::internal;
    }
}

/// A tool-level error (`isError`) for the model.
rpc::handler_outcome failed_result(const char* what, protocol::revision rev, const server_core& server) {
    detail::reply reply;
    detail::write_text(reply, what);
    reply.is_error = true;
    result_text around;
    write_tool_result(around, reply, rev, server);
    rpc::handler_outcome outcome = rpc::handler_outcome::of(join(around, std::move(reply.content)));
    outcome.tool_error = true;
    return outcome;
}

}  // namespace

rpc::handler_outcome outcome_of_failure(std::exception_ptr thrown, bool told_to_stop, protocol::method which,
                                        protocol::revision rev, const server_core& server) {
    rpc::handler_outcome out;
    try {
        std::rethrow_exception(thrown);
    } catch (const detail::bad_arguments& e) {
        // A model can correct its arguments if the error says what is wrong.
        if (which == protocol::method::tools_call && protocol::has_argument_errors_as_results(rev)) {
            return failed_result(e.what(), rev, server);
        }
        out.what = rpc::handler_outcome::kind::failure;
        out.error = {error_code::invalid_params, e.what(), {}};
        return out;
    } catch (const tool_failure& e) {
        if (which == protocol::method::tools_call && json::is_utf8(e.what())) {
            return failed_result(e.what(), rev, server);
        }
        out = rpc::handler_outcome::of(thrown, told_to_stop);
    } catch (const refused_read& e) {
        out = rpc::handler_outcome::of(thrown, told_to_stop);
        out.log = "refused to read \"" + e.uri() + "\": a template variable leaves its folder";
    } catch (...) {  // all other exceptions
        out = rpc::handler_outcome::of(thrown, told_to_stop);
    }
    if (out.what == rpc::handler_outcome::kind::failure) fit_code(out.error, rev);
    return out;
}

rpc::handler_outcome outcome_of_failure(std::exception_ptr thrown, const detail::call_state& call) {
    return outcome_of_failure(std::move(thrown), call.request->stopped(), call.which, call.client->revision,
                              *call.server);
}

std::string result_of(rpc::handler_outcome outcome, rpc::request& request, const server_core& server) {
    if (outcome.what == rpc::handler_outcome::kind::silent) throw cancelled();
    if (!outcome.log.empty()) {
        const std::string what = rpc::printable(outcome.log, 500);
        if (auto peer = request.owner()) peer->handler_failed(request.id(), what);
        else server.report(log_level::error, "handler failed: " + what);
    }
    if (outcome.what == rpc::handler_outcome::kind::failure) {
        throw error(outcome.error.code, outcome.error.message, std::move(outcome.error.data));
    }
    if (outcome.tool_error) request.note_tool_error();
    return std::move(outcome.result);
}

}  // namespace keel::server_side
