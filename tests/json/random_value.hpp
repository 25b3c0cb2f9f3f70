#pragma once

// Random values from a seed.

#include <keel/json.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>

namespace keel::json::test {

class random_values {
public:
    explicit random_values(std::uint64_t seed) : bits_(seed) {}

    std::uint64_t below(std::uint64_t n) { return bits_() % n; }

    double finite_double() {
        for (;;) {
            const auto d = std::bit_cast<double>(bits_());
            if (std::isfinite(d)) return d;
        }
    }

    std::string text(std::size_t longest = 40) {
        static constexpr std::string_view pieces[] = {
            "a", "key", "\"", "\\", "\n", "\x01", "\x7f", "/", "\xc3\xa9", "\xe2\x80\xa8", "\xf0\x9f\x98\x80", " "};
        std::string out;
        for (std::size_t n = below(longest); n != 0; --n) {
            out +=
                below(3) == 0 ? pieces[below(std::size(pieces))] : std::string_view("plain text").substr(below(10), 1);
        }
        if (below(20) == 0) out += '\0';
        return out;
    }

    value any(int depth = 5) {
        switch (below(depth > 0 ? 10 : 7)) {
            case 0: return nullptr;
            case 1: return below(2) == 0;
            case 2: return static_cast<std::int64_t>(bits_());
            case 3: return bits_();
            case 4: return finite_double();
            case 5: return static_cast<double>(below(2000)) - 1000;
            case 6: return text();
            case 7: {
                value list = array();
                for (auto n = below(8); n != 0; --n) list.push_back(any(depth - 1));
                return list;
            }
            default: {
                value map = object();
                for (auto n = below(below(10) == 0 ? 60 : 8); n != 0; --n) map.set(text(12), any(depth - 1));
                return map;
            }
        }
    }

private:
    std::mt19937_64 bits_;
};

}  // namespace keel::json::test
