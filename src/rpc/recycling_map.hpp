#pragma once

// A hash map that reuses its nodes, for entries that come and go with every request.

#include <keel/version.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::rpc {

/// Like std::unordered_map, with two differences: an erased node is reused, so that a request and its response allocate nothing, and
/// iteration is in the order of insertion. References and iterators stay valid until their entry is erased.
template <class Key, class T, class Hash>
class recycling_map {
    struct node;

public:
    using value_type = std::pair<const Key, T>;

    template <bool Const>
    class basic_iterator {
    public:
        using reference = std::conditional_t<Const, const value_type&, value_type&>;
        using pointer = std::conditional_t<Const, const value_type*, value_type*>;

        basic_iterator() = default;
        operator basic_iterator<true>() const noexcept { return basic_iterator<true>(at_); }
        reference operator*() const noexcept { return at_->entry(); }
        pointer operator->() const noexcept { return &at_->entry(); }
        basic_iterator& operator++() noexcept {
            at_ = at_->next;
            return *this;
        }
        friend bool operator==(const basic_iterator&, const basic_iterator&) = default;

    private:
        friend class recycling_map;
        explicit basic_iterator(node* at) noexcept : at_(at) {}
        node* at_ = nullptr;
    };
    using iterator = basic_iterator<false>;
    using const_iterator = basic_iterator<true>;

    recycling_map() = default;
    recycling_map(const recycling_map&) = delete;
    recycling_map& operator=(const recycling_map&) = delete;
    ~recycling_map() {
        clear();
        while (spare_) delete std::exchange(spare_, spare_->next);
    }

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    iterator begin() noexcept { return iterator(first_); }
    iterator end() noexcept { return {}; }
    const_iterator begin() const noexcept { return const_iterator(first_); }
    const_iterator end() const noexcept { return {}; }

    iterator find(const Key& key) noexcept { return iterator(look_up(key)); }
    const_iterator find(const Key& key) const noexcept { return const_iterator(look_up(key)); }
    bool contains(const Key& key) const noexcept { return look_up(key) != nullptr; }
    T& at(const Key& key) {
        node* found = look_up(key);
        if (!found) throw std::out_of_range("keel: no such entry");
        return found->entry().second;
    }

    /// `key` must not be in the map.
    template <class... Args>
    T& add(const Key& key, Args&&... args) {
        if ((size_ + 1) * 2 > slots_.size()) grow();
        node* n = spare_;
        if (n) {
            spare_ = n->next;
            --spares_;
        } else {
            n = new node;
        }
        try {
            new (n->memory) value_type(std::piecewise_construct, std::forward_as_tuple(key),
                                       std::forward_as_tuple(std::forward<Args>(args)...));
        } catch (...) {  // the copy of the key ran out of memory
            keep(n);
            throw;
        }
        n->next = nullptr;
        n->previous = last_;
        (last_ ? last_->next : first_) = n;
        last_ = n;
        put(n);
        ++size_;
        return n->entry().second;
    }

    void erase(iterator at) noexcept { remove(at.at_, slot_of(at.at_)); }
    bool erase(const Key& key) noexcept {
        if (size_ == 0) return false;
        std::size_t slot = find_slot(key);
        if (!slots_[slot]) return false;
        remove(slots_[slot], slot);
        return true;
    }
    void clear() noexcept {
        while (first_) erase(iterator(first_));
    }

private:
    static constexpr std::size_t kept_nodes = 64;

    struct node {
        alignas(value_type) unsigned char memory[sizeof(value_type)];
        node* next;
        node* previous;
        value_type& entry() noexcept { return *std::launder(reinterpret_cast<value_type*>(memory)); }
    };

    void remove(node* n, std::size_t slot) noexcept {
        free_slot(slot);
        (n->previous ? n->previous->next : first_) = n->next;
        (n->next ? n->next->previous : last_) = n->previous;
        std::destroy_at(&n->entry());
        --size_;
        keep(n);
    }

    // Open addressing with linear probing. Erasing moves the following entries up, so that a search ends at the first free slot.
    std::size_t home_of(const Key& key) const noexcept {
        // Folded first: the product depends on the lower bits only, and the peer chooses the keys.
        std::uint64_t h = Hash()(key);
        h = (h ^ (h >> 32)) * 0x9E3779B97F4A7C15u;
        return static_cast<std::size_t>(h >> 32) & (slots_.size() - 1);
    }
    std::size_t after(std::size_t slot) const noexcept { return (slot + 1) & (slots_.size() - 1); }

    node* look_up(const Key& key) const noexcept { return size_ == 0 ? nullptr : slots_[find_slot(key)]; }
    /// The slot of the key, or the free slot where it would be.
    std::size_t find_slot(const Key& key) const noexcept {
        std::size_t slot = home_of(key);
        while (slots_[slot] && !(slots_[slot]->entry().first == key)) slot = after(slot);
        return slot;
    }
    std::size_t slot_of(node* n) const noexcept {
        std::size_t slot = home_of(n->entry().first);
        while (slots_[slot] != n) slot = after(slot);
        return slot;
    }

    void put(node* n) noexcept {
        std::size_t slot = home_of(n->entry().first);
        while (slots_[slot]) slot = after(slot);
        slots_[slot] = n;
    }

    void free_slot(std::size_t gap) noexcept {
        for (std::size_t slot = after(gap); slots_[slot]; slot = after(slot)) {
            // An entry moves up unless its home slot lies between the gap and its slot.
            std::size_t home = home_of(slots_[slot]->entry().first);
            if (((slot - home) & (slots_.size() - 1)) < ((slot - gap) & (slots_.size() - 1))) continue;
            slots_[gap] = slots_[slot];
            gap = slot;
        }
        slots_[gap] = nullptr;
    }

    void grow() {
        std::vector<node*> larger(slots_.empty() ? 16 : slots_.size() * 2);
        slots_.swap(larger);
        for (node* n = first_; n; n = n->next) put(n);
    }

    void keep(node* n) noexcept {
        if (spares_ == kept_nodes) {
            delete n;
            return;
        }
        n->next = std::exchange(spare_, n);
        ++spares_;
    }

    std::vector<node*> slots_;  // the size is a power of two; at least half of the slots are free
    std::size_t size_ = 0;
    node* first_ = nullptr;
    node* last_ = nullptr;
    node* spare_ = nullptr;
    std::size_t spares_ = 0;
};

}  // namespace keel::rpc
