#pragma once

// What is not in the revision in force is not sent. revisions.cpp has one table per revision of what it brought and
// what it dropped; here is how to encode by them.

#include "protocol/revision.hpp"

#include <keel/describe.hpp>
#include <keel/sampling.hpp>

namespace keel::inline KEEL_ABI::protocol {

/// Leaves out what the revision does not have.
const detail::encode_filter& filter_for(revision r) noexcept;

/// A value as a peer of that revision may see it.
template <class T>
json::value encode_for(revision r, const T& from) {
    return detail::encode(detail::type_for<T>, std::addressof(from), &filter_for(r));
}

// In sampling there are fewer kinds of blocks, and before 2025-11-25 only one per message.
json::value encode_for(revision r, const sampling_message& from);
json::value encode_for(revision r, const sampling_request& from);
json::value encode_for(revision r, const sampling_result& from);

enum class content_place : unsigned char { anywhere, sampling };

/// A block of content. One that the revision lacks becomes a text that says what was there. Blocks of unknown types are
/// left as they are: both sides may have agreed on them otherwise.
json::value content_for(revision r, json::value block, content_place place = content_place::anywhere);

/// Whether such a block may be sent as it is.
bool has_content_type(revision r, std::string_view type, content_place place = content_place::anywhere) noexcept;

}  // namespace keel::protocol
