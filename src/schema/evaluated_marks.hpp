#pragma once

#include <keel/version.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace keel::inline KEEL_ABI::validation {

/// The members or items of a value that have been evaluated. Used only for "unevaluatedItems" and
/// "unevaluatedProperties"; up to 128 need no heap.
class marks {
public:
    explicit marks(std::size_t size) : words_((size + 63) / 64) {
        if (words_ > few) many_ = std::make_unique<std::uint64_t[]>(words_);
        data_ = words_ > few ? many_.get() : inline_;
    }
    marks(const marks&) = delete;
    marks& operator=(const marks&) = delete;

    void set(std::size_t i) noexcept { data_[i / 64] |= std::uint64_t{1} << i % 64; }
    bool test(std::size_t i) const noexcept { return (data_[i / 64] >> i % 64 & 1) != 0; }
    void set_first(std::size_t n) noexcept {
        for (std::size_t i = 0; i != n / 64; ++i) data_[i] = ~std::uint64_t{0};
        if (n % 64 != 0) data_[n / 64] |= (std::uint64_t{1} << n % 64) - 1;
    }
    void add(const marks& other) noexcept {
        for (std::size_t i = 0; i != words_; ++i) data_[i] |= other.data_[i];
    }

private:
    static constexpr std::size_t few = 2;
    std::size_t words_;
    std::uint64_t inline_[few] = {};
    std::unique_ptr<std::uint64_t[]> many_;
    std::uint64_t* data_;
};

}  // namespace keel::validation
