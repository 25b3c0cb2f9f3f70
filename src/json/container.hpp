#pragma once

// The storage of arrays and objects, and functions that access the internals of values: allocation, and traversal of
// whole trees. All traversals are loops, so that deep nesting cannot exhaust the stack.

#include <keel/json.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace keel::inline KEEL_ABI::json::detail {

/// A header followed by cells. An array of n elements has n cells; an object of n members has 2n, since a member is a
/// key and a value. Owned blocks are on the heap, borrowed ones in the arena of a document. An empty container may have
/// no block.
struct container {
    container* next;    // links the blocks to be destroyed; unused before
    std::size_t cells;  // capacity; during destruction, the number of cells in use

    static constexpr std::size_t max_size = std::numeric_limits<std::uint32_t>::max();

    value* begin() noexcept { return reinterpret_cast<value*>(this + 1); }
    const value* begin() const noexcept { return reinterpret_cast<const value*>(this + 1); }

    static std::size_t bytes_for(std::size_t cells) noexcept { return sizeof(container) + cells * sizeof(value); }
    static std::size_t cells_of(const value& v) noexcept {
        return v.kind_ == kind::object ? std::size_t{v.size_} * 2 : std::size_t{v.size_};
    }
    static container* block_of(const value& v) noexcept { return v.container_; }
    /// A view of `v` without a copy: valid until `v` changes or is destroyed.
    static value alias(const value& v) noexcept {
        value same;
        same.kind_ = v.kind_;
        same.borrowed_ = v.kind_ >= kind::string;
        same.size_ = v.size_;
        same.int_ = v.int_;
        return same;
    }

    /// Allocates a heap block with uninitialized cells.
    static container* make(std::size_t cells);
    /// Assigns an owned string to `v`, which must be null.
    static void assign_text(value& v, std::string_view text);
    /// Assigns an owned copy of `from` to `to`, which must be null. If it throws, `to` is still destructible.
    static void copy(const value& from, value& to);
    /// Destroys an owned value. Does not allocate.
    static void destroy(value& v) noexcept;
    static bool equal(const value& a, const value& b) noexcept;

    /// Makes `v` an owned array or object (`wanted`) with room for one more element.
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
