#include "json/container.hpp"
#include "json/key_index.hpp"
#include "json/small_stack.hpp"

#include <cstring>
#include <memory>
#include <new>

// Copies, destroys and compares whole trees.

namespace keel::inline KEEL_ABI::json::detail {

namespace {

struct copy_step {
    const value* from;
    value* to;
};

struct equal_step {
    const value* a;
    const value* b;
};

bool equals(std::int64_t n, double d) noexcept {
    // Not `double(n) == d`, which would round n. Both bounds are powers of two and exact.
    if (!(d >= -0x1p63 && d < 0x1p63)) return false;
    const auto whole = static_cast<std::int64_t>(d);
    return whole == n && static_cast<double>(whole) == d;
}

bool equals(std::uint64_t n, double d) noexcept {
    if (!(d >= 0 && d < 0x1p64)) return false;
    const auto whole = static_cast<std::uint64_t>(d);
    return whole == n && static_cast<double>(whole) == d;
}

}  // namespace

container* container::make(std::size_t cells) {
    auto* block = static_cast<container*>(::operator new(bytes_for(cells)));
    return new (block) container{nullptr, cells};
}

void container::assign_text(value& v, std::string_view text) {
    if (text.size() > max_size) throw error("string too long: more than 4 GiB");
    const char* bytes = "";  // an empty string owns nothing
    if (!text.empty()) {
        auto* copied = static_cast<char*>(::operator new(text.size()));
        std::memcpy(copied, text.data(), text.size());
        bytes = copied;
    }
    v.kind_ = kind::string;
    v.borrowed_ = false;
    v.size_ = static_cast<std::uint32_t>(text.size());
    v.text_ = bytes;
}

// Copies a container with null cells; its cells are copied later from the work list.
void container::copy_flat(const value& from, value& to, auto& waiting) {
    switch (from.kind_) {
        case kind::string: assign_text(to, {from.text_, from.size_}); return;
        case kind::array:
        case kind::object: {
            container* block = nullptr;
            if (const std::size_t n = cells_of(from); n != 0) {
                block = make(n);
                std::uninitialized_default_construct_n(block->begin(), n);
            }
            to.kind_ = from.kind_;
            to.size_ = from.size_;
            to.container_ = block;
            if (block) waiting.push({&from, &to});
            return;
        }
        default:
            to.kind_ = from.kind_;
            to.int_ = from.int_;
            return;
    }
}

void container::copy(const value& from, value& to) {
    small_stack<copy_step> waiting;
    copy_flat(from, to, waiting);
    while (!waiting.empty()) {
        const auto [source, target] = waiting.pop();
        const value* in = source->container_->begin();
        value* out = target->container_->begin();
        for (std::size_t n = cells_of(*source); n != 0; --n) copy_flat(*in++, *out++, waiting);
    }
}

void container::free_parts(value* cell, std::size_t count, container*& waiting) noexcept {
    for (; count != 0; --count, ++cell) {
        if (cell->kind_ < kind::string || cell->borrowed_) continue;
        if (cell->kind_ == kind::string) {
            if (cell->size_ != 0) ::operator delete(const_cast<char*>(cell->text_));
        } else if (container* block = cell->container_) {
            block->cells = cells_of(*cell);
            block->next = waiting;
            waiting = block;
        }
    }
}

void container::destroy(value& v) noexcept {
    container* waiting = nullptr;
    free_parts(&v, 1, waiting);
    while (waiting) {
        container* block = waiting;
        waiting = block->next;
        free_parts(block->begin(), block->cells, waiting);
        ::operator delete(block);
    }
}

bool container::equal_flat(const value& a, const value& b, auto& waiting) {
    if (a.kind_ != b.kind_) {
        if (a.kind_ == kind::real) {
            if (b.kind_ == kind::integer) return equals(b.int_, a.real_);
            if (b.kind_ == kind::unsigned_integer) return equals(b.uint_, a.real_);
        } else if (b.kind_ == kind::real) {
            if (a.kind_ == kind::integer) return equals(a.int_, b.real_);
            if (a.kind_ == kind::unsigned_integer) return equals(a.uint_, b.real_);
        }
        return false;  // the two integer kinds have disjoint ranges
    }
    switch (a.kind_) {
        case kind::null: return true;
        case kind::boolean: return a.bool_ == b.bool_;
        case kind::integer: return a.int_ == b.int_;
        case kind::unsigned_integer: return a.uint_ == b.uint_;
        case kind::real: return a.real_ == b.real_;
        case kind::string: return std::string_view(a.text_, a.size_) == std::string_view(b.text_, b.size_);
        case kind::array:
        case kind::object: break;
    }
    if (a.size_ != b.size_) return false;
    // Compare even if both are the same block: a tree that contains a NaN does not equal itself.
    if (a.size_ != 0) waiting.push({&a, &b});
    return true;
}

bool container::equal_members(const value& a, const value& b, auto& waiting) {
    const auto left = a.members();
    const auto right = b.members();
    key_index index;
    bool no_memory = false;
    for (std::size_t i = 0; i != left.size(); ++i) {
        const member& here = left[i];
        const value* there = nullptr;
        if (right[i].key() == here.key()) {
            there = &right[i].content;
        } else if (right.size() > few_members && !no_memory) {
            if (!index) no_memory = !index.build(right);
            if (index) {
                if (const member* found = index.find(here.key())) there = &found->content;
            }
        }
        // Also if there is no memory for an index: a slow search is better than a wrong result.
        if (!there && (no_memory || right.size() <= few_members)) there = b.find(here.key());
        if (!there || !equal_flat(here.content, *there, waiting)) return false;
    }
    return true;
}

bool container::equal(const value& a, const value& b) noexcept {
    small_stack<equal_step> waiting;
    if (!equal_flat(a, b, waiting)) return false;
    while (!waiting.empty()) {
        const auto [left, right] = waiting.pop();
        if (left->kind_ == kind::object) {
            if (!equal_members(*left, *right, waiting)) return false;
            continue;
        }
        const value* p = left->container_->begin();
        const value* q = right->container_->begin();
        for (std::size_t n = left->size_; n != 0; --n) {
            if (!equal_flat(*p++, *q++, waiting)) return false;
        }
    }
    return true;
}

}  // namespace keel::json::detail
