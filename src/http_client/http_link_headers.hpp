#pragma once

// The HTTP headers that a client sends. No I/O.

#include "http_client/transfer.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http_client {

/// The state that goes into the headers of every request.
struct request_terms {
    bool modern = false;
    std::string version;  // "" before the legacy handshake
    std::string session;  // "" if there is none
    header_list own;      // headers of keel::url
};

/// The parts of a message that are repeated in headers.
struct message_labels {
    std::string_view method;
    std::string_view name;
    const header_list* extra = nullptr;  // may be null
    bool opens_session = false;          // initialize: there is no session yet
};

header_list headers_of_message(const request_terms& terms, const message_labels& labels);
/// The headers of a GET for an event stream; resumes after `last_event_id` unless that is empty.
header_list headers_of_stream(const request_terms& terms, std::string_view last_event_id);
header_list headers_of_delete(const request_terms& terms);

/// "NAME/VERSION keel/VERSION". Characters that User-Agent does not allow become '-'.
std::string user_agent(std::string_view client_name, std::string_view client_version);
/// Adds a header unless the list has one with this name.
void add_default_header(header_list& to, std::string_view name, std::string value);

/// True for a valid header: the name is a token, the value has no control characters.
bool is_writable_header(std::string_view name, std::string_view value) noexcept;
/// True for headers that are reserved for MCP or HTTP itself.
bool is_protocol_header(std::string_view name) noexcept;
/// LHTTP-08: visible ASCII, at most 4096 characters.
bool is_session_id(std::string_view text) noexcept;
bool is_event_stream_type(std::string_view content_type) noexcept;

}  // namespace keel::http_client
