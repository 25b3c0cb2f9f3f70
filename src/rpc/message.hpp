#pragma once

// The wire form: what a JSON value is as a JSON-RPC message, and the text of the messages we send.

#include "rpc/request_id.hpp"

#include <keel/json.hpp>

#include <span>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::rpc {

/// Which end of the connection we are.
enum class role : unsigned char { server, client };

enum class message_kind : unsigned char { request, notification, response, invalid };

/// Points into the value it was read from.
struct message {
    message_kind kind = message_kind::invalid;
    request_id id;                        // also of an invalid message, where it could be read
    std::string_view method;              // request, notification
    bool names_method = false;            // there is a member "method", whatever it holds
    const json::value* params = nullptr;  // absent, or an object (of a request or notification)
    const json::value* result = nullptr;  // response: exactly one of the two, else `problem` says so
    const json::value* error = nullptr;
    int code = 0;              // invalid: the error it deserves
    const char* problem = "";  // invalid, or a response that is not well formed
};

/// Never fails: what is no message comes back as `invalid`.
message classify(const json::value& v);

/// An error as it goes over the wire. `data` is left out when null.
struct failure {
    int code = 0;
    std::string message;
    json::value data;
};

/// A text in several places, so that a large part of it that is kept somewhere need not be copied twice.
using text_pieces = std::span<const std::string_view>;

// Each appends one message without a newline. `result` and `params` are JSON texts.
void write_result(std::string& out, const request_id& id, text_pieces result);
inline void write_result(std::string& out, const request_id& id, std::string_view result) {
    write_result(out, id, text_pieces(&result, 1));
}
/// Without an id (an anonymous error) the member is left out.
void write_error(std::string& out, const request_id& id, const failure& why);
void write_request(std::string& out, std::int64_t id, std::string_view method, std::string_view params);
/// The same up to its parameters; append them, if there are any, and a closing brace.
void begin_request(std::string& out, std::int64_t id, std::string_view method);
void write_notification(std::string& out, std::string_view method, std::string_view params);

/// What is to be seen at the top level of a text that breaks off.
struct glimpse {
    request_id id;
    bool method = false;
    bool result = false;  // or an error
};
glimpse look_at(std::string_view beginning);

/// Text from a peer made fit for a log or an error: cut to `limit` bytes, control characters escaped.
std::string printable(std::string_view text, std::size_t limit = 200);

}  // namespace keel::rpc
