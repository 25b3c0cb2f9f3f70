#pragma once

// A request to a server before it is sent, and the JSON text of its parameters.

#include <keel/call.hpp>
#include <keel/json.hpp>
#include <keel/loop.hpp>

#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::client_side {

/// `members` is the text of the parameters without braces and without `_meta`.
struct outgoing_request {
    std::string_view method;
    std::string members = {};
    std::string_view name = {};  // for HTTP: the name or URI in the Mcp-Name header
    call_options how = {};
    bool progress = true;
    std::string_view feature = {};       // capability that the server must have declared (LIFE-04); "": none
    time_point due = time_point::max();  // deadline of the whole call, which may take several requests
};

/// Appends one member. Throws std::invalid_argument if the value is not representable as JSON.
void append_member(std::string& members, std::string_view key, const json::value& v);
/// The members of an object as JSON text. Its `_meta` entries are added to `meta`, unless `meta` has them already.
std::string members_of(const json::value& params, json::value& meta);
/// Appends the caller's `_meta` entries to the text of its members. Throws std::invalid_argument for reserved or invalid entries.
void append_meta(std::string& text, const json::value& object);

}  // namespace keel::client_side
