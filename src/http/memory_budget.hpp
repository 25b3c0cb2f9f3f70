#pragma once

// The limit on all bytes that an HTTP server keeps for its clients: bodies, output queues and event logs.

#include <keel/version.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace keel::inline KEEL_ABI::http {

/// Shared by the workers of a server; thread-safe. Each owner of memory reports its changes. The order in which memory is saved:
/// new work is refused while the budget is `tight`; when it is `exceeded`, stored events are evicted, then the connections with the most
/// unread output are closed (http_worker::relieve). A thread checks after each change, so it exceeds the budget by one message at most. Text
/// for another thread counts until that thread has it; if it exceeds the budget, its connection is closed instead.
class memory_budget {
public:
    explicit memory_budget(std::size_t total) noexcept : total_(total) {}
    memory_budget(const memory_budget&) = delete;
    memory_budget& operator=(const memory_budget&) = delete;

    /// An owner that held `before` bytes holds `now` bytes.
    void change(std::size_t before, std::size_t now) noexcept {
        if (now > before) used_.fetch_add(now - before, std::memory_order_relaxed);
        else used_.fetch_sub(before - now, std::memory_order_relaxed);
    }
    std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
    std::size_t total() const noexcept { return total_; }
    bool tight() const noexcept { return used() > total_ - total_ / 4; }
    bool exceeded() const noexcept { return used() > total_; }

private:
    const std::size_t total_;
    std::atomic<std::size_t> used_{0};
};

/// Text that belongs to no connection, for example on its way to another thread. It counts in the budget until it is destroyed.
class budgeted_text {
public:
    budgeted_text(std::shared_ptr<memory_budget> budget, std::string_view text)
        : text_(text), budget_(std::move(budget)) {
        budget_->change(0, text_.size());
    }
    budgeted_text(const budgeted_text&) = delete;
    budgeted_text& operator=(const budgeted_text&) = delete;
    ~budgeted_text() { budget_->change(text_.size(), 0); }

    const std::string& get() const noexcept { return text_; }

private:
    const std::string text_;
    const std::shared_ptr<memory_budget> budget_;
};

}  // namespace keel::http
