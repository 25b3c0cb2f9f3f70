#pragma once

// Destroying an object that may be on the call stack.

#include <keel/loop.hpp>

#include <memory>
#include <utility>

namespace keel::inline KEEL_ABI::detail {

/// Releases this owner of `object` when the work that the loop runs at the moment has returned; at once if the loop has ended. For an
/// object whose own function may be running. Safe to call from any thread.
inline void release_later(loop& on, std::shared_ptr<void> object) {
    on.post([held = std::move(object)] {});
}

}  // namespace keel::detail
