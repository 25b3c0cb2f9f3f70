#pragma once

// Sets of OAuth scopes (RFC 6749, section 3.3).

#include <keel/version.hpp>

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::auth {

inline constexpr std::size_t max_scopes = 256;

/// A scope is visible ASCII without '"' and '\'.
bool is_scope(std::string_view text) noexcept;

/// A set of scopes in the order in which they were added.
class scope_set {
public:
    scope_set() = default;
    scope_set(std::initializer_list<std::string_view> scopes);

    /// Parses scopes separated by spaces. Returns nullopt if one of them is invalid or there are more than max_scopes.
    static std::optional<scope_set> parse(std::string_view text);

    /// Adds a scope; one that is already in the set keeps its place.
    void add(std::string_view scope);
    void add(const scope_set& others);
    bool contains(std::string_view scope) const noexcept;
    bool contains(const scope_set& others) const noexcept;
    bool empty() const noexcept { return scopes_.empty(); }
    const std::vector<std::string>& list() const noexcept { return scopes_; }
    /// "a b c".
    std::string text() const;

    bool operator==(const scope_set& other) const noexcept { return contains(other) && other.contains(*this); }

private:
    std::vector<std::string> scopes_;
};

/// Scopes that include others: "write" may imply "read" (AUS-07).
class scope_hierarchy {
public:
    scope_hierarchy() = default;
    explicit scope_hierarchy(std::map<std::string, std::vector<std::string>> implied);

    /// The scopes and everything that they imply, directly or through others. Cycles are allowed.
    scope_set expand(const scope_set& granted) const;
    /// True if `granted` and what it implies contain all of `required`.
    bool satisfies(const scope_set& granted, const scope_set& required) const;

private:
    std::map<std::string, std::vector<std::string>, std::less<>> implied_;
};

}  // namespace keel::auth
