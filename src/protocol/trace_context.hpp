#pragma once

#include <keel/json.hpp>
#include <keel/trace.hpp>

#include <string_view>

namespace keel::inline KEEL_ABI::protocol {

// META-03. The formats of the W3C recommendations, with our own limits where they only define minimum sizes.

/// Version, trace id, parent id and flags in lower-case hexadecimal; neither id is all zeros. Version 00 has nothing
/// after the flags, later versions may.
bool is_traceparent(std::string_view) noexcept;
/// At most 32 entries with different keys, 512 characters in all. Empty text is invalid.
bool is_tracestate(std::string_view);
/// At most 180 entries, 8192 characters in all. Empty text is invalid.
bool is_baggage(std::string_view) noexcept;

/// Returns the valid members of `_meta`. A tracestate without a valid traceparent is dropped, because it refers to that
/// parent.
trace_context read_trace_context(const json::value& meta);

}  // namespace keel::protocol
