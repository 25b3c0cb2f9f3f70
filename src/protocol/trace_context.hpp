#pragma once

#include <keel/json.hpp>
#include <keel/trace.hpp>

#include <string_view>

namespace keel::inline KEEL_ABI::protocol {

// META-03. The forms of the W3C recommendations, with bounds of our own where they only say how much must be carried.

/// Version, trace id, parent id and flags in lower-case hexadecimal; neither id all zeros. Version 00 has nothing after
/// the flags, later ones may.
bool is_traceparent(std::string_view) noexcept;
/// At most 32 entries with different keys, 512 characters in all. An empty text is none.
bool is_tracestate(std::string_view);
/// At most 180 entries, 8192 characters in all. An empty text is none.
bool is_baggage(std::string_view) noexcept;

/// The members of `_meta` whose form is right. A tracestate without a good traceparent is dropped: it says something
/// about that parent only.
trace_context read_trace_context(const json::value& meta);

}  // namespace keel::protocol
