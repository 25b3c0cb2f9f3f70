#pragma once

// Members that the revision in force lacks are not sent. revisions.cpp has one table per revision of added and removed
// members; these functions encode by the tables.

#include "protocol/revision.hpp"

#include <keel/describe.hpp>
#include <keel/sampling.hpp>

namespace keel::inline KEEL_ABI::protocol {

/// Omits members that the revision lacks.
const detail::encode_filter& filter_for(revision r) noexcept;

/// Encodes a value for a peer of this revision.
template <class T>
json::value encode_for(revision r, const T& from) {
    return detail::encode(detail::type_for<T>, std::addressof(from), &filter_for(r));
}

// Sampling supports fewer kinds of blocks, and before 2025-11-25 only one block per message.
json::value encode_for(revision r, const sampling_message& from);
json::value encode_for(revision r, const sampling_request& from);
json::value encode_for(revision r, const sampling_result& from);

enum class content_place : unsigned char { anywhere, sampling };

/// Encodes a content block. A block that the revision lacks becomes a text that describes it. Blocks of unknown types
/// are kept: both sides may have agreed on them.
json::value content_for(revision r, json::value block, content_place place = content_place::anywhere);

/// True if the revision supports this block type.
bool has_content_type(revision r, std::string_view type, content_place place = content_place::anywhere) noexcept;

}  // namespace keel::protocol
