#pragma once

// Durations and outcomes of requests, as a histogram for monitoring systems.

#include "rpc/peer_core.hpp"

#include <keel/loop.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace keel::inline KEEL_ABI::server_side {

inline constexpr std::size_t outcome_count = 4;  // of rpc::request_outcome

/// Upper bounds of the buckets in microseconds. Those from 10 ms on are the ones that the conventions of OpenTelemetry recommend
/// for MCP; most handlers need less.
inline constexpr std::array<std::uint64_t, 18> bucket_bounds = {
    100,     500,       1'000,     5'000,     10'000,     20'000,     50'000,     100'000,     200'000,
    500'000, 1'000'000, 2'000'000, 5'000'000, 10'000'000, 30'000'000, 60'000'000, 120'000'000, 300'000'000};

/// A copy of a histogram. The buckets are not cumulative; the last one has no upper bound.
struct duration_counts {
    std::array<std::uint64_t, bucket_bounds.size() + 1> buckets{};
    std::uint64_t sum = 0;  // nanoseconds

    std::uint64_t count() const noexcept {
        std::uint64_t all = 0;
        for (std::uint64_t each : buckets) all += each;
        return all;
    }
    duration_counts& operator+=(const duration_counts& other) noexcept {
        for (std::size_t i = 0; i < buckets.size(); ++i) buckets[i] += other.buckets[i];
        sum += other.sum;
        return *this;
    }
};

/// Thread-safe. Adding costs two atomic additions.
class shared_duration_counts {
public:
    void add(duration took) noexcept {
        const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
        const std::uint64_t n = ns > 0 ? static_cast<std::uint64_t>(ns) : 0;
        std::size_t bucket = 0;
        while (bucket < bucket_bounds.size() && n > bucket_bounds[bucket] * 1000) ++bucket;
        buckets_[bucket].fetch_add(1, std::memory_order_relaxed);
        sum_.fetch_add(n, std::memory_order_relaxed);
    }
    duration_counts read() const noexcept {
        duration_counts out;
        for (std::size_t i = 0; i < buckets_.size(); ++i) out.buckets[i] = buckets_[i].load(std::memory_order_relaxed);
        out.sum = sum_.load(std::memory_order_relaxed);
        return out;
    }

private:
    std::array<std::atomic<std::uint64_t>, bucket_bounds.size() + 1> buckets_{};
    std::atomic<std::uint64_t> sum_{0};
};

using outcome_durations = std::array<duration_counts, outcome_count>;

/// One histogram for each outcome.
class operation_counts {
public:
    void add(duration took, rpc::request_outcome how) noexcept { by_outcome_[static_cast<std::size_t>(how)].add(took); }
    outcome_durations read() const noexcept {
        outcome_durations out;
        for (std::size_t i = 0; i < outcome_count; ++i) out[i] = by_outcome_[i].read();
        return out;
    }

private:
    std::array<shared_duration_counts, outcome_count> by_outcome_;
};

/// The requests of one method, or of one tool for tools/call.
struct operation_health {
    std::string method;  // "": methods that do not exist
    std::string tool;    // tools/call only; "": tools that do not exist
    outcome_durations durations;
};

}  // namespace keel::server_side
