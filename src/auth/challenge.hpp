#pragma once

// WWW-Authenticate (RFC 9110, section 11.6.1): what a server asks for when it refuses a request.

#include <keel/version.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::auth {

/// One challenge: a scheme with either a token68 or parameters.
struct challenge {
    std::string scheme = {};                                           // as it was sent
    std::string token68 = {};                                          // "" if it has parameters or nothing
    std::vector<std::pair<std::string, std::string>> parameters = {};  // names in lower case, values without quotes

    /// Compares without regard to case. `lower_case` is in lower case.
    bool has_scheme(std::string_view lower_case) const noexcept;
    /// The value of a parameter. Returns nullopt if it is missing, or if it is repeated: a repeated parameter has no defined meaning.
    std::optional<std::string_view> parameter(std::string_view lower_case_name) const noexcept;

    bool operator==(const challenge&) const = default;
};

/// Parses all challenges of all WWW-Authenticate lines of a response. Text that is not a challenge is skipped up to the next one, so
/// that a malformed challenge does not hide the others. Returns at most `max_challenges` with at most `max_parameters` parameters each.
std::vector<challenge> parse_challenges(const std::vector<std::string_view>& lines);

inline constexpr std::size_t max_challenges = 16;
inline constexpr std::size_t max_parameters = 32;

/// Writes a challenge with quoted values: `Bearer resource_metadata="https://…", scope="a b"`. Control characters, which a header
/// cannot contain, are left out.
std::string write_challenge(const challenge&);

}  // namespace keel::auth
