#pragma once

#include <keel/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

namespace keel::inline KEEL_ABI::json::detail {

/// A bump allocator. `reset` frees everything at once, but keeps one block of at most `keep` bytes: large enough for
/// ordinary messages, and small enough for thousands of idle connections.
class arena {
public:
    static constexpr std::size_t keep = 64 * 1024;

    arena() noexcept = default;
    ~arena() { free_all(); }
    arena(const arena&) = delete;
    arena& operator=(const arena&) = delete;

    /// The result is aligned for a value.
    void* take(std::size_t bytes) {
        at_ += -reinterpret_cast<std::uintptr_t>(at_) & (alignment - 1);
        if (static_cast<std::ptrdiff_t>(bytes) > end_ - at_) add_block(bytes);
        void* result = at_;
        at_ += bytes;
        return result;
    }

    // For a string whose length is not known in advance: write from open() up to limit(), get more room with reopen(),
    // and finish with close(). Nothing else may be allocated meanwhile.
    char* open() noexcept { return at_; }
    char* limit() noexcept { return end_; }
    /// Returns a copy of the `used` bytes at `start`, followed by at least `more` bytes of room.
    char* reopen(const char* start, std::size_t used, std::size_t more) {
        add_block(used * 2 + more);
        if (used != 0) std::memcpy(at_, start, used);
        return at_;
    }
    void close(char* end) noexcept { at_ = end; }

    void reset() noexcept {
        if (!blocks_) return;
        if (blocks_->next || blocks_->size > keep) {
            // Allocate one block of the total size next time, within limits.
            next_size_ = std::clamp(total_, smallest, keep);
            free_all();
            return;
        }
        use(blocks_);
    }

private:
    static constexpr std::size_t alignment = 8;
    static constexpr std::size_t smallest = 4 * 1024;
    static constexpr std::size_t largest = 1024 * 1024;

    struct alignas(alignment) block {
        block* next;
        std::size_t size;
    };

    void use(block* b) noexcept {
        at_ = reinterpret_cast<char*>(b + 1);
        end_ = reinterpret_cast<char*>(b) + b->size;
    }

    void add_block(std::size_t bytes) {
        const std::size_t size = std::max(next_size_, bytes + sizeof(block));
        auto* added = new (::operator new(size)) block{blocks_, size};
        blocks_ = added;
        total_ += size;
        next_size_ = std::min(next_size_ * 2, largest);
        use(added);
    }

    void free_all() noexcept {
        while (blocks_) {
            block* gone = blocks_;
            blocks_ = gone->next;
            ::operator delete(gone);
        }
        at_ = nullptr;
        end_ = nullptr;
        total_ = 0;
    }

    char* at_ = nullptr;
    char* end_ = nullptr;
    block* blocks_ = nullptr;  // the newest first
    std::size_t total_ = 0;
    std::size_t next_size_ = smallest;
};

}  // namespace keel::json::detail
