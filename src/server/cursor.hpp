#pragma once

// The opaque pagination cursors that clients get.

#include "protocol/methods.hpp"

#include <keel/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::server_side {

/// A position in a list. Entries are identified by their registry numbers, which never change, so a position stays valid
/// while entries are added and removed.
struct list_position {
    std::uint64_t number = 0;  // of the last entry that was sent; after the entries: of the template

    // resources/list only: the results of the templates' `list` functions follow the entries.
    bool behind_templates = false;
    std::string inner = {};       // cursor argument for the `list` function
    std::uint64_t skip = 0;       // number of its results that were already sent
    std::uint64_t last_seen = 0;  // digest of the URI of the last one sent

    static constexpr std::size_t max_inner = 4096;
    friend bool operator==(const list_position&, const list_position&) = default;
};

/// Returns base64url. `at.inner` must have at most `max_inner` bytes.
std::string write_cursor(protocol::method list, const list_position& at);

/// Returns nullopt if write_cursor did not create the text for this list (another list, another server, truncated). This does
/// not protect against forgery, and need not: a client that may list may start anywhere.
std::optional<list_position> read_cursor(protocol::method list, std::string_view text);

/// The position that a list request asks for; the beginning if it has no cursor. Throws keel::error (invalid params, PAG-03).
list_position wanted_position(protocol::method list, const json::value& params);

/// A hash that is the same in every process.
std::uint64_t digest_of(std::string_view text) noexcept;

}  // namespace keel::server_side
