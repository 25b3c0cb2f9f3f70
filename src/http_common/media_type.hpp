#pragma once

// The Accept and Content-Type headers.

#include "http_common/head_parser.hpp"

#include <span>
#include <string_view>

namespace keel::inline KEEL_ABI::http {

inline constexpr std::string_view json_type = "application/json";

struct accepted_types {
    bool said = false;  // there was an Accept header; without one HTTP allows any type
    bool json = false;
    bool event_stream = false;
};

/// All Accept headers together. The most specific entry decides: `text/event-stream;q=0, */*` does not accept an event
/// stream. Invalid entries are ignored.
accepted_types read_accept(std::span<const header> headers);

/// `application/json` with any parameters; a charset must be UTF-8.
bool is_json_type(std::string_view content_type) noexcept;

}  // namespace keel::http
