#include "exit_status.hpp"

#include "http_error_text.hpp"
#include "output_error.hpp"

#include <keel/error.hpp>
#include <keel/task.hpp>

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

namespace keel::command {

namespace {

int status_of(error_kind k) {
    switch (k) {
        case error_kind::rejected:
        case error_kind::unauthorized: return exit_status::rejected;
        case error_kind::timed_out: return exit_status::timed_out;
        case error_kind::cancelled: return exit_status::by_signal;
        default: return exit_status::lost;
    }
}

/// The error as a JSON-RPC error response carries it.
std::string json_of(const error& e) {
    json::value told = json::object({{"code", e.code()}, {"message", e.what()}});
    if (!e.data().is_null()) told.set("data", e.data());
    return json::to_string(json::object({{"error", std::move(told)}}));
}

/// Timeouts name the limit of the library; users of the command know its options.
std::string with_option_names(std::string text) {
    constexpr std::pair<std::string_view, std::string_view> names[] = {
        {"call_options::total", "--timeout"},
        {"call_options::idle", "--timeout"},
        {"limits::request_total", "--timeout"},
        {"limits::request_idle", "--timeout"},
        {"client_options::connect_timeout", "--connect-timeout"}};
    for (const auto& [limit, option] : names) {
        if (std::size_t at = text.rfind(limit); at != std::string::npos) text.replace(at, limit.size(), option);
    }
    return text;
}

failure of(const error& e) {
    if (is_http_error(e)) {
        return {exit_status::rejected, "the server rejected the request: " + http_error_text(e), {}, e.http_status()};
    }
    // The client checks the server's capabilities and reports an unsupported feature without sending a request.
    if (e.kind() == error_kind::unavailable && e.code() == error_code::method_not_found)
        return {exit_status::rejected, e.what(), json_of(e)};
    if (e.kind() == error_kind::timed_out) return {exit_status::timed_out, with_option_names(e.what()), {}};
    if (e.kind() != error_kind::rejected) return {status_of(e.kind()), e.what(), {}};
    return {exit_status::rejected,
            std::string("the server rejected the request: ") + e.what() + " (" + std::to_string(e.code()) + ")",
            json_of(e), 0, e.code() == error_code::internal};
}

failure of(const output_error& e) {
    // EPIPE is not an error: the reader has closed the pipe, as in keel ... | head.
    bool unwanted = e.code().value() == EPIPE;
    return {exit_status::cannot_write, unwanted ? std::string() : e.what(), {}};
}

}  // namespace

failure describe_failure() {
    constexpr std::string_view library = "keel: ";  // the prefix of all library messages
    try {
        throw;
    } catch (const error& e) {
        return of(e);
    } catch (const cancelled&) {
        return {exit_status::by_signal, "cancelled", {}};
    } catch (const usage_error& e) {
        return {exit_status::usage, e.what(), {}};
    } catch (const std::invalid_argument& e) {  // arguments of the library that come from the command line
        std::string_view why = e.what();
        if (why.starts_with(library)) why.remove_prefix(library.size());
        return {exit_status::usage, std::string(why), {}};
    } catch (const output_error& e) {
        return of(e);
    } catch (const std::exception& e) {
        return {exit_status::lost, e.what(), {}};
    }
}

}  // namespace keel::command
