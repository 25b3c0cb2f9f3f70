#pragma once

#include <keel/version.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace keel::inline KEEL_ABI::json::detail {

/// A stack whose first N entries need no heap. Nearly every message is less deeply nested.
template <class T, std::size_t N = 32>
    requires std::is_trivially_copyable_v<T>
class small_stack {
public:
    small_stack() noexcept {}
    small_stack(const small_stack&) = delete;
    small_stack& operator=(const small_stack&) = delete;

    bool empty() const noexcept { return size_ == 0; }
    T& top() noexcept { return data_[size_ - 1]; }
    void push(const T& entry) {
        if (size_ == room_) grow();
        data_[size_++] = entry;
    }
    T pop() noexcept { return data_[--size_]; }
    void drop() noexcept { --size_; }

private:
    void grow() {
        auto larger = std::make_unique_for_overwrite<T[]>(room_ * 2);
        std::copy_n(data_, size_, larger.get());
        heap_ = std::move(larger);
        data_ = heap_.get();
        room_ *= 2;
    }

    T inline_[N];
    T* data_ = inline_;
    std::size_t size_ = 0;
    std::size_t room_ = N;
    std::unique_ptr<T[]> heap_;
};

}  // namespace keel::json::detail
