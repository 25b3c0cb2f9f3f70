#pragma once

#include <keel/client.hpp>

#include <memory>

namespace keel::inline KEEL_ABI::client_side {

/// A client and all of its parts; see client/engine.hpp.
using engine_ptr = std::shared_ptr<detail::client_engine>;

}  // namespace keel::client_side
