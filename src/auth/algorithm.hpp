#pragma once

// The signature algorithms of JWS (RFC 7518, RFC 8037) that Keel supports. The list is closed: "none" and the symmetric
// algorithms (HS256, …) do not exist here, so no token can select them.

#include <keel/version.hpp>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::auth {

enum class algorithm : unsigned char { rs256, rs384, rs512, ps256, ps384, ps512, es256, es384, es512, eddsa };

std::string_view name_of(algorithm) noexcept;
/// The algorithm with this name (case-sensitive), or nullopt.
std::optional<algorithm> find_algorithm(std::string_view name) noexcept;

class algorithm_set {
public:
    constexpr algorithm_set(std::initializer_list<algorithm> list) {
        for (algorithm each : list) bits_ |= bit(each);
    }
    constexpr bool contains(algorithm a) const noexcept { return (bits_ & bit(a)) != 0; }
    constexpr void add(algorithm a) noexcept { bits_ |= bit(a); }
    /// "RS256 PS256 …", for metadata and challenges.
    std::string text() const;

private:
    static constexpr unsigned bit(algorithm a) noexcept { return 1U << static_cast<unsigned>(a); }
    unsigned bits_ = 0;
};

/// The algorithms that are accepted by default. Verifying ES384 takes ten times as long as ES256.
inline constexpr algorithm_set default_algorithms = {algorithm::rs256, algorithm::ps256, algorithm::es256,
                                                     algorithm::eddsa};

}  // namespace keel::auth
