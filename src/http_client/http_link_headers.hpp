#pragma once

// The headers of what a client sends over HTTP. No I/O.

#include "http_client/transfer.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http_client {

/// What every request to the server says besides its message.
struct request_terms {
    bool modern = false;
    std::string version;  // "" before the handshake of the older era
    std::string session;  // "" when there is none
    header_list own;      // of the URL
};

/// What one message shows outside of its body.
struct message_labels {
    std::string_view method;
    std::string_view name;
    const header_list* extra = nullptr;  // may be null
    bool opens_session = false;          // initialize: it belongs to no session yet
};

header_list headers_of_message(const request_terms& terms, const message_labels& labels);
/// A GET for an event stream, from `last_event_id` on unless that is empty.
header_list headers_of_stream(const request_terms& terms, std::string_view last_event_id);
header_list headers_of_delete(const request_terms& terms);

/// A header that can be written: a token, and a value that cannot end its line.
bool is_writable_header(std::string_view name, std::string_view value) noexcept;
/// Those that the protocol or HTTP itself speaks with: nobody else may set them.
bool is_protocol_header(std::string_view name) noexcept;
/// LHTTP-08: visible ASCII, and not without end.
bool is_session_id(std::string_view text) noexcept;
bool is_event_stream_type(std::string_view content_type) noexcept;

}  // namespace keel::http_client
