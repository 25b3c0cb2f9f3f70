#pragma once

// The W3C trace context in the `_meta` of a request.

#include <keel/version.hpp>

#include <string>

namespace keel::inline KEEL_ABI {

/// A member is empty if it was missing or malformed.
struct KEEL_API trace_context {
    std::string traceparent;  // "00-<trace id>-<parent id>-<flags>"
    std::string tracestate;   // "vendor=value,…"; only together with a traceparent
    std::string baggage;      // "key=value;property,…"

    bool empty() const noexcept { return traceparent.empty() && baggage.empty(); }
    friend bool operator==(const trace_context&, const trace_context&) = default;
};

}  // namespace keel
