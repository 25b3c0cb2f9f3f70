#pragma once

// Where a list goes on, as clients see it: a short text that means nothing to them.

#include "protocol/methods.hpp"

#include <keel/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::server_side {

/// A place in a list. Entries are known by the numbers of their registry, which never change: so a place stays what it
/// is while entries come and go.
struct list_position {
    std::uint64_t number = 0;  // of the last entry that was shown; behind templates: of the template

    // resources/list alone: what the `list` functions of templates give comes after the entries.
    bool behind_templates = false;
    std::string inner = {};       // what the function is to be called with
    std::uint64_t skip = 0;       // so many of what it then gives were shown
    std::uint64_t last_seen = 0;  // digest of the URI of the last of them

    static constexpr std::size_t max_inner = 4096;
    friend bool operator==(const list_position&, const list_position&) = default;
};

/// Base64 for URLs. `inner` must keep to its bound.
std::string write_cursor(protocol::method list, const list_position& at);

/// Nothing for a text that write_cursor did not make for this list: of another list, of another server, or cut. That is
/// no protection against forgery, and needs none: whoever can list may start anywhere.
std::optional<list_position> read_cursor(protocol::method list, std::string_view text);

/// Where a list request wants to go on; the beginning without a cursor. PAG-03: throws keel::error, invalid params.
list_position wanted_position(protocol::method list, const json::value& params);

/// Tells texts apart, the same in every process.
std::uint64_t digest_of(std::string_view text) noexcept;

}  // namespace keel::server_side
