#pragma once

// The timers of one loop. Every request starts and stops timers; they rarely expire.

#include <keel/loop.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::async {

/// A binary heap. Entries store their position, so that stopping a timer needs no search; slots are reused, so that starting one
/// needs no allocation. Timers that are due at the same time expire in the order in which they were started.
class timer_heap {
public:
    bool empty() const noexcept { return heap_.empty(); }
    std::size_t size() const noexcept { return heap_.size(); }
    /// When the next timer is due. Must not be called if empty.
    time_point next() const noexcept { return slots_[heap_.front()].when; }

    loop::timer add(time_point when, std::function<void()> work) {
        std::uint32_t index;
        if (free_.empty()) {
            index = static_cast<std::uint32_t>(slots_.size());
            slots_.emplace_back();
            free_.reserve(slots_.size());  // so that remove cannot fail
        } else {
            index = free_.back();
            free_.pop_back();
        }
        slot& s = slots_[index];
        s.when = when;
        s.order = ++started_;
        s.work = std::move(work);
        heap_.push_back(index);
        rise(heap_.size() - 1);
        return id_of(index);
    }

    /// Returns true if the timer was still pending.
    bool remove(loop::timer id) noexcept {
        std::uint32_t index = static_cast<std::uint32_t>(id) - 1;
        if (id == 0 || index >= slots_.size() || slots_[index].work == nullptr || id_of(index) != id) return false;
        std::function<void()> dropped =
            take(index);  // destroyed after the heap is valid again: its destructor may use the heap
        return true;
    }

    /// Returns the work of the next timer and removes it if it is due; otherwise returns an empty function.
    std::function<void()> take_due(time_point now) {
        if (heap_.empty() || next() > now) return nullptr;
        return take(heap_.front());
    }

    void clear() noexcept {
        std::vector<slot> dropped = std::exchange(slots_, {});
        heap_.clear();
        free_.clear();
    }

private:
    struct slot {
        time_point when;
        std::uint64_t order = 0;
        std::function<void()> work;  // empty: the slot is free
        std::size_t place = 0;       // in the heap
        std::uint32_t uses = 1;      // part of the id, so that ids of earlier uses are invalid
    };

    loop::timer id_of(std::uint32_t index) const noexcept {
        return (static_cast<loop::timer>(slots_[index].uses) << 32) | (index + 1);
    }
    bool before(std::uint32_t a, std::uint32_t b) const noexcept {
        const slot& x = slots_[a];
        const slot& y = slots_[b];
        return x.when != y.when ? x.when < y.when : x.order < y.order;
    }
    void put(std::size_t place, std::uint32_t index) noexcept {
        heap_[place] = index;
        slots_[index].place = place;
    }
    void rise(std::size_t place) noexcept {
        std::uint32_t index = heap_[place];
        while (place > 0) {
            std::size_t parent = (place - 1) / 2;
            if (!before(index, heap_[parent])) break;
            put(place, heap_[parent]);
            place = parent;
        }
        put(place, index);
    }
    void sink(std::size_t place) noexcept {
        std::uint32_t index = heap_[place];
        for (std::size_t child; (child = 2 * place + 1) < heap_.size(); place = child) {
            if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) ++child;
            if (!before(heap_[child], index)) break;
            put(place, heap_[child]);
        }
        put(place, index);
    }
    std::function<void()> take(std::uint32_t index) noexcept {
        slot& s = slots_[index];
        std::function<void()> work = std::exchange(s.work, nullptr);
        ++s.uses;
        std::size_t place = s.place;
        std::uint32_t last = heap_.back();
        heap_.pop_back();
        if (last != index) {
            put(place, last);
            rise(place);
            sink(slots_[last].place);
        }
        free_.push_back(index);
        return work;
    }

    std::vector<slot> slots_;
    std::vector<std::uint32_t> heap_;
    std::vector<std::uint32_t> free_;
    std::uint64_t started_ = 0;
};

}  // namespace keel::async
