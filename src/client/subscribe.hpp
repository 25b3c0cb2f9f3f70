#pragma once

// Subscriptions: one listen request each in 2026-07-28, one subscribe request per resource before.

#include "client/engine_ptr.hpp"

#include <keel/call.hpp>
#include <keel/subscription.hpp>
#include <keel/task.hpp>

namespace keel::inline KEEL_ABI::client_side {

/// Runs on the loop of the client, and keeps the client alive. The subscription itself does not: it ends with its session, which has
/// the list of its subscribers.
task<subscription> subscribe(engine_ptr client, subscription_request what, call_options how);

}  // namespace keel::client_side
