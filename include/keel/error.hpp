#pragma once

// What can go wrong, sorted by what the caller can do about it.

#include <keel/json.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI {

enum class error_kind : unsigned char {
    rejected,      // the peer answered with an error: read code and data
    bad_message,   // the peer broke the protocol: report it, do not retry
    closed,        // the connection is gone: reconnect, then decide what to repeat
    timed_out,     // no answer in time: the work may or may not have been done
    cancelled,     // we asked for it
    unauthorized,  // get a token, then try again
    unavailable,  // it cannot be done here: a nested request where none can be delivered, too much queued, no connection
    stream_lost,   // HTTP: the answer to this request was lost on its way; it may have been served. The rest goes on
    session_lost,  // HTTP, older revisions: the server has forgotten the session this request belonged to
};

/// Words for people: "connection closed", "timed out", "bad message".
KEEL_API std::string_view name_of(error_kind) noexcept;

namespace error_code {
inline constexpr int parse = -32700;
inline constexpr int invalid_request = -32600;
inline constexpr int method_not_found = -32601;
inline constexpr int invalid_params = -32602;
inline constexpr int internal = -32603;
inline constexpr int resource_not_found = -32002;  // up to 2025-11-25
inline constexpr int header_mismatch = -32020;
inline constexpr int missing_client_capability = -32021;
inline constexpr int unsupported_protocol_version = -32022;
inline constexpr int url_elicitation_required = -32042;  // 2025-11-25 alone
inline constexpr int request_cancelled = -32800;
}  // namespace error_code

/// Thrown by calls that failed. From a handler it is also the way to answer with a protocol error of one's own:
/// `throw keel::error(keel::error_code::invalid_params, "no such row", json::object({{"row", 7}}))`.
class KEEL_API error : public std::runtime_error {
public:
    error(int code, const std::string& message, json::value data = {})
        : std::runtime_error(message), kind_(error_kind::rejected), code_(code), data_(std::move(data)) {}
    error(error_kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
    /// The same with what a peer is to be told when nobody catches it.
    error(error_kind kind, const std::string& message, int code, json::value data = {})
        : std::runtime_error(message), kind_(kind), code_(code), data_(std::move(data)) {}
    ~error() override;

    error_kind kind() const noexcept { return kind_; }
    /// The JSON-RPC code: as received when kind is rejected, else what a peer is told; 0 when there is none.
    int code() const noexcept { return code_; }
    const json::value& data() const noexcept { return data_; }
    /// Over HTTP, the status that came with the error; else 0.
    int http_status() const noexcept { return http_status_; }
    void set_http_status(int status) noexcept { http_status_ = status; }

private:
    error_kind kind_;
    int code_ = 0;
    int http_status_ = 0;
    json::value data_;
};

}  // namespace keel
