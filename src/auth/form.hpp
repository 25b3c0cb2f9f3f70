#pragma once

// application/x-www-form-urlencoded, as in OAuth requests, redirects and client authentication.

#include <keel/version.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::auth {

/// Appends the encoded text: letters, digits and "-._*" as they are, a space as '+', everything else as %XX.
void append_form_encoded(std::string& out, std::string_view text);
std::string form_encode(std::string_view text);
/// Returns nullopt if an escape is incomplete or the result contains a NUL.
std::optional<std::string> form_decode(std::string_view text);

/// The fields of a form in order; names may repeat (`resource`).
class form {
public:
    form() = default;
    /// Parses a query or body. Returns nullopt if an escape is invalid or there are more than `max_fields` fields.
    static std::optional<form> parse(std::string_view text);

    form& add(std::string_view name, std::string_view value);
    /// The value of a field. nullopt: it is missing, or it is repeated (RFC 6749, section 3.1: parameters must not be repeated).
    std::optional<std::string_view> field(std::string_view name) const noexcept;
    bool repeats(std::string_view name) const noexcept;
    const std::vector<std::pair<std::string, std::string>>& fields() const noexcept { return fields_; }
    std::string text() const;

    static constexpr std::size_t max_fields = 64;

private:
    std::vector<std::pair<std::string, std::string>> fields_;
};

/// Adds the fields to the query of a URL, before its fragment; existing parameters are kept.
std::string with_query(std::string_view url, const form& fields);

}  // namespace keel::auth
