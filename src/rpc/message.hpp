#pragma once

// JSON-RPC messages: classifies received JSON values and writes the text of messages that we send.

#include "rpc/request_id.hpp"

#include <keel/json.hpp>

#include <span>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::rpc {

/// Which end of the connection we are.
enum class role : unsigned char { server, client };

enum class message_kind : unsigned char { request, notification, response, invalid };

/// A received message; points into the JSON value that it was read from.
struct message {
    message_kind kind = message_kind::invalid;
    request_id id;                        // also of an invalid message, if it has one
    std::string_view method;              // request, notification
    bool names_method = false;            // there is a member "method", valid or not
    const json::value* params = nullptr;  // absent, or an object (of a request or notification)
    const json::value* result = nullptr;  // response: exactly one of the two, else `problem` is set
    const json::value* error = nullptr;
    int code = 0;              // invalid: the error code to answer with
    const char* problem = "";  // of an invalid message, or of a malformed response
};

/// Never fails: a value that is not a message is classified as `invalid`.
message classify(const json::value& v);

/// A JSON-RPC error. `data` is omitted if null.
struct failure {
    int code = 0;
    std::string message;
    json::value data;
};

// The errors for requests that a shutdown or a limit ends. Every transport sends these texts.
/// For a request that was running, or arrives over HTTP, while its receiver shuts down (C1).
failure shutting_down_error(role receiver = role::server);
/// For a request that arrives on an existing connection or session after the shutdown began.
failure refused_by_shutdown_error();
/// `data.reason` is "overloaded" (A12, F8).
failure overloaded_error(std::string message = "too many requests in flight");

/// The error text for a batch where the protocol revision has none.
inline constexpr const char* batches_unsupported = "batches are not part of this protocol revision";
/// Why a batch cannot be served, or null. `v` is an array.
const char* batch_problem(const json::value& v, bool supported, std::size_t max_size) noexcept;

/// A text in several pieces, so that a large piece need not be copied to join them.
using text_pieces = std::span<const std::string_view>;

// Each appends one message without a newline. `result` and `params` are JSON texts.
void write_result(std::string& out, const request_id& id, text_pieces result);
inline void write_result(std::string& out, const request_id& id, std::string_view result) {
    write_result(out, id, text_pieces(&result, 1));
}
/// The same for a large result: `result[1]` is the content of `body`. If `out` is nearly empty, it is swapped with `body`, so that the
/// content need not be copied to another buffer.
void write_large_result(std::string& out, const request_id& id, text_pieces result, std::string& body);
/// Without an id the member is omitted.
void write_error(std::string& out, const request_id& id, const failure& why);
void write_request(std::string& out, std::int64_t id, std::string_view method, std::string_view params);
/// The same up to the parameters: append them, if any, and a closing brace.
void begin_request(std::string& out, std::int64_t id, std::string_view method);
void write_notification(std::string& out, std::string_view method, std::string_view params);

/// The top-level members found in a truncated message.
struct truncated_message {
    request_id id;
    bool method = false;
    bool result = false;  // or an error
};
truncated_message read_truncated(std::string_view beginning);

/// Text from a peer for a log or an error message: at most `limit` bytes, with control characters escaped.
std::string printable(std::string_view text, std::size_t limit = 200);

}  // namespace keel::rpc
