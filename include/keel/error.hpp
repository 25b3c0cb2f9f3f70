#pragma once

// Errors, sorted by what the caller can do about them.

#include <keel/json.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI {

enum class error_kind : unsigned char {
    rejected,      // the peer answered with an error: see code() and data()
    bad_message,   // the peer violated the protocol: report it, do not retry
    closed,        // the connection is closed: reconnect, then decide what to retry
    timed_out,     // no answer before the timeout: the peer may or may not have done the work
    cancelled,     // the caller cancelled the request
    unauthorized,  // authentication required: get a token, then retry
    unavailable,   // the peer does not support it, too many requests are queued, or there is no connection
    stream_lost,   // HTTP: the answer to this request was lost; the server may have served it. Other requests continue
    session_lost,  // HTTP, before 2026-07-28: the server no longer knows the session of this request
};

/// The kind as text, for messages: "connection closed", "timed out", "bad message".
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

/// Thrown by calls that fail. A handler throws it to answer with a protocol error:
/// `throw keel::error(keel::error_code::invalid_params, "no such row", json::object("row", 7))`.
class KEEL_API error : public std::runtime_error {
public:
    error(int code, const std::string& message, json::value data = {})
        : std::runtime_error(message), kind_(error_kind::rejected), code_(code), data_(std::move(data)) {}
    error(error_kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
    /// Same, with the code and data that are sent to the peer if a handler does not catch the exception.
    error(error_kind kind, const std::string& message, int code, json::value data = {})
        : std::runtime_error(message), kind_(kind), code_(code), data_(std::move(data)) {}
    ~error() override;

    error_kind kind() const noexcept { return kind_; }
    /// The JSON-RPC error code: as received if kind() is `rejected`, else as sent to a peer; 0 if there is none.
    int code() const noexcept { return code_; }
    const json::value& data() const noexcept { return data_; }
    /// The HTTP status of the error, or 0 without HTTP.
    int http_status() const noexcept { return http_status_; }
    void set_http_status(int status) noexcept { http_status_ = status; }

private:
    error_kind kind_;
    int code_ = 0;
    int http_status_ = 0;
    json::value data_;
};

}  // namespace keel
