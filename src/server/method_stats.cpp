#include "server/method_stats.hpp"

#include <algorithm>

namespace keel::inline KEEL_ABI::server_side {

method_health duration_histogram::read() const {
    // A copy, so that all percentiles refer to the same requests while others are recorded.
    std::array<std::uint64_t, bucket_count> counts{};
    method_health h;
    for (std::size_t i = 0; i < bucket_count; ++i) {
        counts[i] = counts_[i].load(std::memory_order_relaxed);
        h.count += counts[i];
    }
    h.errors = std::min(errors_.load(std::memory_order_relaxed), h.count);
    const std::uint64_t slowest = slowest_.load(std::memory_order_relaxed);
    h.slowest = std::chrono::nanoseconds(slowest);

    /// The time of the given percentile.
    auto percentile = [&](std::uint64_t hundredths) {
        const std::uint64_t rank = (h.count / 100) * hundredths + ((h.count % 100) * hundredths + 99) / 100;
        std::uint64_t passed = 0;
        std::size_t bucket = 0;
        while (bucket + 1 < bucket_count && (passed += counts[bucket]) < rank) ++bucket;
        std::uint64_t middle = slowest;
        if (bucket + 1 < bucket_count) {
            const std::uint64_t begin = begin_of(bucket);
            middle = std::min(slowest, begin + (begin_of(bucket + 1) - begin) / 2);
        }
        return std::chrono::nanoseconds(middle);
    };
    if (h.count > 0) {
        h.p50 = percentile(50);
        h.p90 = percentile(90);
        h.p99 = percentile(99);
    }
    return h;
}

method_stats::method_stats() {
    for (std::size_t i = 0; i < first_custom; ++i) slots_[i] = std::make_unique<method_entry>();
    for (std::size_t i = 0; i < protocol::method_count; ++i) slots_[i]->name = protocol::methods[i].name;
}

std::uint16_t method_stats::slot_of(const std::string& custom_method) {
    std::lock_guard lock(mutex_);
    auto known = custom_.find(custom_method);
    if (known != custom_.end()) return known->second;
    if (custom_.size() == most_custom) return unknown;
    auto slot = static_cast<std::uint16_t>(first_custom + custom_.size());
    slots_[slot] = std::make_unique<method_entry>();
    slots_[slot]->name = custom_method;
    custom_.emplace(custom_method, slot);
    return slot;
}

std::uint16_t method_stats::slot_of_tool(const std::string& name) {
    std::lock_guard lock(mutex_);
    auto known = tool_slots_.find(name);
    if (known != tool_slots_.end()) return known->second;
    if (tool_slots_.size() == most_tools) return unknown_tool;
    auto slot = static_cast<std::uint16_t>(tool_slots_.size() + 1);
    tools_[slot] = std::make_unique<tool_entry>();
    tools_[slot]->name = name;
    tool_slots_.emplace(name, slot);
    return slot;
}

std::string_view method_stats::method_name(std::uint16_t slot) const noexcept { return slots_[slot]->name; }

std::string_view method_stats::tool_name(std::uint16_t slot) const noexcept {
    return slot == unknown_tool ? std::string_view() : tools_[slot]->name;
}

std::map<std::string, method_health> method_stats::read() const {
    std::map<std::string, method_health> all;
    std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < first_custom + custom_.size(); ++i) {
        method_health h = slots_[i]->percentiles.read();
        if (h.count > 0) all.emplace(slots_[i]->name, h);
    }
    return all;
}

std::vector<operation_health> method_stats::operations() const {
    std::vector<operation_health> all;
    auto take = [&](std::string_view method, std::string_view tool, const operation_counts& counts) {
        operation_health h{std::string(method), std::string(tool), counts.read()};
        std::uint64_t requests = 0;
        for (const duration_counts& each : h.durations) requests += each.count();
        if (requests > 0) all.push_back(std::move(h));
    };
    std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < first_custom + custom_.size(); ++i) take(slots_[i]->name, "", slots_[i]->counts);
    for (const auto& [name, slot] : tool_slots_) take("tools/call", name, tools_[slot]->counts);
    return all;
}

}  // namespace keel::server_side
