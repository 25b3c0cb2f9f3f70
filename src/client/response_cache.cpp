#include "client/response_cache.hpp"

#include "protocol/cache_hints.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace keel::inline KEEL_ABI::client_side {

namespace {

struct cacheable {
    std::string_view method;
    std::string_view parameter;  // the member of `params` that is part of the key; "": none
};

constexpr std::array<cacheable, 6> methods = {{
    {"server/discover", ""},
    {"tools/list", "cursor"},
    {"prompts/list", "cursor"},
    {"resources/list", "cursor"},
    {"resources/templates/list", "cursor"},
    {"resources/read", "uri"},
}};
constexpr std::size_t reads = 5;

std::size_t index_of(std::string_view method) noexcept {
    auto found = std::find_if(methods.begin(), methods.end(), [&](const cacheable& c) { return c.method == method; });
    return static_cast<std::size_t>(found - methods.begin());
}

/// Other `_meta` entries may change the result, so such requests are not cached.
bool is_usual_meta(const json::value& meta) noexcept {
    constexpr std::array<std::string_view, 4> usual = {"progressToken", "traceparent", "tracestate", "baggage"};
    return std::ranges::all_of(meta.members(), [&](const json::member& m) {
        return m.key().starts_with("io.modelcontextprotocol/") || std::ranges::find(usual, m.key()) != usual.end();
    });
}

/// nullopt: not cacheable.
std::optional<time_point> fresh_until(const json::value& result, time_point received) noexcept {
    const std::chrono::milliseconds ttl = protocol::read_cache_hints(result).ttl;
    if (ttl == ttl.zero()) return std::nullopt;
    const auto longest = std::chrono::duration_cast<std::chrono::milliseconds>(time_point::max() - received);
    return ttl >= longest ? time_point::max() : received + ttl;
}

}  // namespace

std::size_t footprint(const json::value& v) noexcept {
    std::size_t sum = sizeof v;
    if (auto text = v.if_string()) return sum + text->size();
    for (const json::value& each : v.items()) sum += footprint(each);
    for (const json::member& each : v.members()) sum += footprint(each.name) + footprint(each.content);
    return sum;
}

response_cache::response_cache(const cache_settings& bounds) : bounds_(bounds) {}

std::optional<response_cache::key> response_cache::key_of(std::string_view method, const json::value& params,
                                                          std::string_view who) {
    key k{.method = index_of(method), .parameter = std::nullopt, .who = std::string(who)};
    if (k.method == methods.size()) return std::nullopt;
    const std::string_view parameter = methods[k.method].parameter;
    for (const json::member& m : params.members()) {
        if (m.key() == "_meta") {
            if (!is_usual_meta(m.content)) return std::nullopt;
        } else if (m.key() == parameter && m.content.is_string()) {
            k.parameter = m.content.as_string();
        } else {
            return std::nullopt;
        }
    }
    return k;
}

std::shared_ptr<const json::value> response_cache::find(std::string_view method, const json::value& params,
                                                        std::string_view who, time_point now) {
    if (entries_.empty()) return nullptr;
    const std::optional<key> name = key_of(method, params, who);
    if (!name) return nullptr;
    auto found = by_name_.find(*name);
    if (found == by_name_.end()) return nullptr;
    if (now >= found->second->fresh_until) {
        drop(found->second);
        return nullptr;
    }
    entries_.splice(entries_.begin(), entries_, found->second);
    return entries_.front().result;
}

void response_cache::keep(std::string_view method, const json::value& params, std::string_view who,
                          const json::value& result, time_point received, std::uint64_t asked) {
    if (!bounds_.enabled) return;
    std::optional<key> name = key_of(method, params, who);
    // Absent means "complete". Other results (input_required, a task) must not be reused.
    if (!name || !result.is_object() || result["resultType"].if_string().value_or("complete") != "complete") return;
    if (asked < stale_since_[name->method]) return;
    if (auto older = by_name_.find(*name); older != by_name_.end()) drop(older->second);
    const std::optional<time_point> until = fresh_until(result, received);
    if (!until) return;
    const std::size_t size =
        footprint(result) + sizeof(entry) + name->who.size() + (name->parameter ? name->parameter->size() : 0);
    if (bounds_.max_entries == 0 || size > bounds_.max_bytes / 4) return;

    while (!entries_.empty() && (entries_.size() >= bounds_.max_entries || bytes_ + size > bounds_.max_bytes)) {
        drop(std::prev(entries_.end()));
    }
    entries_.push_front({*name, std::make_shared<const json::value>(result), *until, size});
    by_name_.emplace(*std::move(name), entries_.begin());
    bytes_ += size;
}

void response_cache::drop(entry_list::iterator which) {
    bytes_ -= which->bytes;
    by_name_.erase(which->name);
    entries_.erase(which);
}

template <class Which>
void response_cache::drop_those(std::size_t method, Which which) {
    stale_since_[method] = ++moment_;
    for (auto e = entries_.begin(); e != entries_.end();) {
        auto next = std::next(e);
        if (e->name.method == method && which(e->name)) drop(e);
        e = next;
    }
}

void response_cache::drop_list(std::string_view method) {
    const std::size_t index = index_of(method);
    if (index != methods.size()) drop_those(index, [](const key&) { return true; });
}

void response_cache::on_notification(std::string_view method, const json::value& params) {
    if (method == "notifications/tools/list_changed") {
        drop_list("tools/list");
    } else if (method == "notifications/prompts/list_changed") {
        drop_list("prompts/list");
    } else if (method == "notifications/resources/list_changed") {
        drop_list("resources/list");
        drop_list("resources/templates/list");
    } else if (method == "notifications/resources/updated") {
        // Only the named resource: which others belong to the subscribed one is known to the server only.
        const auto uri = params["uri"].if_string();
        if (uri) drop_those(reads, [&](const key& k) { return k.parameter == *uri; });
    }
}

void response_cache::clear() {
    stale_since_.fill(++moment_);
    by_name_.clear();
    entries_.clear();
    bytes_ = 0;
}

}  // namespace keel::client_side
