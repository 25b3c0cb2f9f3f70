#pragma once

// The block behind an array or an object, and everything that must reach into a value: allocation and the walks over
// whole trees. All walks are loops, so that no depth of nesting can exhaust the stack.

#include <keel/json.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace keel::inline KEEL_ABI::json::detail {

/// A header followed by cells. An array of n elements fills n cells; an object of n members fills 2n, since a member is
/// two values side by side. Owned blocks come from the heap, borrowed ones from the arena of a document. A value
/// without elements may have no block at all.
struct container {
    container* next;    // links the blocks that wait to be destroyed; unused before
    std::size_t cells;  // the room; once the block waits to be destroyed, the cells in use

    static constexpr std::size_t max_size = std::numeric_limits<std::uint32_t>::max();

    value* begin() noexcept { return reinterpret_cast<value*>(this + 1); }
    const value* begin() const noexcept { return reinterpret_cast<const value*>(this + 1); }

    static std::size_t bytes_for(std::size_t cells) noexcept { return sizeof(container) + cells * sizeof(value); }
    static std::size_t cells_of(const value& v) noexcept {
        return v.kind_ == kind::object ? std::size_t{v.size_} * 2 : std::size_t{v.size_};
    }
    static container* block_of(const value& v) noexcept { return v.container_; }
    /// The same without a copy: good as long as `v` is, and not changed.
    static value alias(const value& v) noexcept {
        value same;
        same.kind_ = v.kind_;
        same.borrowed_ = v.kind_ >= kind::string;
        same.size_ = v.size_;
        same.int_ = v.int_;
        return same;
    }

    /// A heap block; its cells hold nothing yet.
    static container* make(std::size_t cells);
    /// Makes `v`, a null, an owned string.
    static void assign_text(value& v, std::string_view text);
    /// Makes `to`, a null, an owned copy of `from`. If that throws, `to` is something that can be destroyed.
    static void copy(const value& from, value& to);
    /// Destroys an owned value. Allocates nothing.
    static void destroy(value& v) noexcept;
    static bool equal(const value& a, const value& b) noexcept;

    /// Makes `v` an owned array or object (`wanted`) with room for one more.
    static void make_room(value& v, kind wanted);
    static void grow(value& v, std::size_t cells);
    static value& push(value& array, value&& element);
    static value& push_member(value& object, std::string_view key, value&& content);
    static bool erase(value& object, std::string_view key) noexcept;
    static void own(value& v);

private:
    static void copy_flat(const value& from, value& to, auto& waiting);
    static bool equal_flat(const value& a, const value& b, auto& waiting);
    static bool equal_members(const value& a, const value& b, auto& waiting);
    static void free_parts(value* cell, std::size_t count, container*& waiting) noexcept;
};

static_assert(sizeof(container) % alignof(value) == 0);
static_assert(sizeof(member) == 2 * sizeof(value));

}  // namespace keel::json::detail
