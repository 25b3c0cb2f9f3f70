#include "auth/algorithm.hpp"

#include <cstddef>

namespace keel::inline KEEL_ABI::auth {

namespace {

constexpr std::string_view names[] = {"RS256", "RS384", "RS512", "PS256", "PS384",
                                      "PS512", "ES256", "ES384", "ES512", "EdDSA"};

}  // namespace

std::string_view name_of(algorithm a) noexcept { return names[static_cast<std::size_t>(a)]; }

std::optional<algorithm> find_algorithm(std::string_view name) noexcept {
    for (std::size_t i = 0; i < std::size(names); ++i) {
        if (names[i] == name) return static_cast<algorithm>(i);
    }
    return std::nullopt;
}

std::string algorithm_set::text() const {
    std::string out;
    for (std::size_t i = 0; i < std::size(names); ++i) {
        if (!contains(static_cast<algorithm>(i))) continue;
        if (!out.empty()) out += ' ';
        out += names[i];
    }
    return out;
}

}  // namespace keel::auth
