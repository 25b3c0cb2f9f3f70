#pragma once

// The capabilities that a client declares to a server.

#include "protocol/capabilities.hpp"

#include <keel/client.hpp>

namespace keel::inline KEEL_ABI::client_side {

class shared_state;

/// `modern`: for revision 2026-07-28. A capability is declared only if the options have its handler.
protocol::client_capabilities declared_capabilities(const client_options& options, const shared_state& shared,
                                                    bool modern);

}  // namespace keel::client_side
