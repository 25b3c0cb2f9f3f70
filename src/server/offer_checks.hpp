#pragma once

// Validation of the fields that tools, resources, templates and prompts share.

#include <keel/resource.hpp>
#include <keel/types.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::server_side {

/// Each function throws std::invalid_argument, naming the entry and the field: `keel: prompt "x": title: must be UTF-8`.
class offer_checks {
public:
    /// Both strings must outlive this object.
    offer_checks(std::string_view kind, std::string_view name) noexcept : kind_(kind), name_(name) {}

    [[noreturn]] void refuse(std::string_view field, std::string_view why) const;
    void text(std::string_view field, std::string_view value) const;
    void not_empty(std::string_view field, std::string_view value) const;
    void meta(const json::value& meta) const;
    void notes(const std::optional<annotations>& notes) const;
    void icons(const std::vector<icon>& icons) const;
    void cache(const std::optional<cache_hint>& hint) const;

private:
    std::string_view kind_;
    std::string_view name_;
};

}  // namespace keel::server_side
