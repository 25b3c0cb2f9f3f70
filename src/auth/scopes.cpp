#include "auth/scopes.hpp"

#include <algorithm>

namespace keel::inline KEEL_ABI::auth {

bool is_scope(std::string_view text) noexcept {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f && c != '"' && c != '\\'; });
}

scope_set::scope_set(std::initializer_list<std::string_view> scopes) {
    for (std::string_view each : scopes) add(each);
}

std::optional<scope_set> scope_set::parse(std::string_view text) {
    scope_set out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        if (const std::string_view each = text.substr(0, end); !each.empty()) {
            if (!is_scope(each)) return std::nullopt;
            out.add(each);
            if (out.scopes_.size() > max_scopes) return std::nullopt;
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

void scope_set::add(std::string_view scope) {
    if (!contains(scope)) scopes_.emplace_back(scope);
}

void scope_set::add(const scope_set& others) {
    for (const std::string& each : others.scopes_) add(each);
}

bool scope_set::contains(std::string_view scope) const noexcept {
    return std::find(scopes_.begin(), scopes_.end(), scope) != scopes_.end();
}

bool scope_set::contains(const scope_set& others) const noexcept {
    return std::all_of(others.scopes_.begin(), others.scopes_.end(),
                       [&](const std::string& each) { return contains(each); });
}

std::string scope_set::text() const {
    std::string out;
    for (const std::string& each : scopes_) {
        if (!out.empty()) out += ' ';
        out += each;
    }
    return out;
}

scope_hierarchy::scope_hierarchy(std::map<std::string, std::vector<std::string>> implied) {
    for (auto& [scope, others] : implied) implied_.emplace(scope, std::move(others));
}

scope_set scope_hierarchy::expand(const scope_set& granted) const {
    if (implied_.empty()) return granted;
    scope_set out = granted;
    // `out` grows while it is read: what an implied scope implies is added too, and a scope is visited once.
    for (std::size_t i = 0; i < out.list().size(); ++i) {
        const auto found = implied_.find(out.list()[i]);
        if (found == implied_.end()) continue;
        for (const std::string& each : found->second) out.add(each);
    }
    return out;
}

bool scope_hierarchy::satisfies(const scope_set& granted, const scope_set& required) const {
    return granted.contains(required) || expand(granted).contains(required);
}

}  // namespace keel::auth
