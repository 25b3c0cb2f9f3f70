#pragma once

// Number and duration of requests per method and tool, for server::health and the metrics.

#include "protocol/methods.hpp"
#include "server/operation_counts.hpp"

#include <keel/loop.hpp>
#include <keel/server_health.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::server_side {

/// A histogram whose buckets are 1/8 of their lower bound wide, which bounds the relative error of percentiles.
/// Thread-safe.
class duration_histogram {
public:
    /// Costs one atomic addition, and a second one for an error.
    void add(duration took, bool with_error) noexcept {
        auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
        std::uint64_t n = nanoseconds > 0 ? static_cast<std::uint64_t>(nanoseconds) : 0;
        counts_[bucket_of(n)].fetch_add(1, std::memory_order_relaxed);
        if (with_error) errors_.fetch_add(1, std::memory_order_relaxed);
        std::uint64_t most = slowest_.load(std::memory_order_relaxed);
        while (n > most && !slowest_.compare_exchange_weak(most, n, std::memory_order_relaxed)) {
        }
    }
    method_health read() const;

    static constexpr std::size_t steps = 8;       // buckets for each power of two
    static constexpr unsigned longest_bits = 50;  // 13 days; longer times go to the last bucket
    static constexpr std::size_t bucket_count = steps * (longest_bits - 2);

    static constexpr std::size_t bucket_of(std::uint64_t n) noexcept {
        if (n < steps) return static_cast<std::size_t>(n);
        auto bits = static_cast<unsigned>(std::bit_width(n));
        if (bits > longest_bits) return bucket_count - 1;
        // The highest bit selects the power of two, the three bits below it the bucket in it.
        return (bits - 3) * steps + static_cast<std::size_t>((n >> (bits - 4)) & (steps - 1));
    }
    /// The lower bound of a bucket.
    static constexpr std::uint64_t begin_of(std::size_t bucket) noexcept {
        if (bucket < steps) return bucket;
        return (steps + bucket % steps) << (bucket / steps - 1);
    }

private:
    std::array<std::atomic<std::uint64_t>, bucket_count> counts_{};
    std::atomic<std::uint64_t> errors_{0};
    std::atomic<std::uint64_t> slowest_{0};
};

/// One entry per protocol method, per custom method (at most `most_custom`) and per tool (at most `most_tools`), and one for all other
/// methods and tools. Entries are kept when their method or tool is removed: counters must not go back.
class method_stats {
public:
    method_stats();

    /// The slot of a protocol method is its enum value.
    static constexpr std::uint16_t unknown = protocol::method_count;
    static constexpr std::size_t most_custom = 64;
    /// Of tools/call: the tool does not exist, or there are more than `most_tools`.
    static constexpr std::uint16_t unknown_tool = 0;
    static constexpr std::size_t most_tools = 512;

    /// The slot of a new custom method. Beyond `most_custom` methods it is `unknown`.
    std::uint16_t slot_of(const std::string& custom_method);
    /// The slot of a tool, new or known. Beyond `most_tools` names it is `unknown_tool`.
    std::uint16_t slot_of_tool(const std::string& name);

    /// `tool` is `unknown_tool` for other methods than tools/call.
    void record(std::uint16_t method, std::uint16_t tool, duration took, rpc::request_outcome how) noexcept {
        slots_[method]->percentiles.add(took, how == rpc::request_outcome::error);
        if (tool == unknown_tool) slots_[method]->counts.add(took, how);
        else tools_[tool]->counts.add(took, how);
    }
    /// Methods without requests are omitted.
    std::map<std::string, method_health> read() const;
    /// The same with outcomes, and tools/call by tool.
    std::vector<operation_health> operations() const;

    /// Valid as long as this object. "" for `unknown` and `unknown_tool`.
    std::string_view method_name(std::uint16_t slot) const noexcept;
    std::string_view tool_name(std::uint16_t slot) const noexcept;

private:
    static constexpr std::size_t first_custom = unknown + 1;

    struct method_entry {
        std::string name;
        duration_histogram percentiles;
        operation_counts counts;
    };
    struct tool_entry {
        std::string name;
        operation_counts counts;
    };

    // A slot is created before its method or tool is registered, so record() needs no lock.
    std::array<std::unique_ptr<method_entry>, first_custom + most_custom> slots_;
    std::array<std::unique_ptr<tool_entry>, most_tools + 1> tools_;  // the first is always null
    mutable std::mutex mutex_;                                       // guards the two maps
    std::map<std::string, std::uint16_t> custom_;
    std::map<std::string, std::uint16_t> tool_slots_;
};

}  // namespace keel::server_side
