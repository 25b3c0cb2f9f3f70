#pragma once

// A clock that is cheap enough to be read at every step of a handler.

#include <keel/loop.hpp>

namespace keel::inline KEEL_ABI::async {

/// The time on the loop's clock. On the library's loops it is up to 10 ms old, but costs only a few nanoseconds.
time_point coarse_now(loop& l) noexcept;

}  // namespace keel::async
