#pragma once

// The tools (or resources, templates, prompts, methods) of a server. Any thread may change them; sessions read immutable snapshots.

#include "protocol/revision.hpp"

#include <keel/json.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::server_side {

/// An immutable snapshot, in the order of insertion. `Entry` has key() and describe(revision).
template <class Entry>
class table {
public:
    using pointer = std::shared_ptr<const Entry>;

    table() = default;
    explicit table(std::vector<std::pair<std::uint64_t, pointer>> entries) : entries_(std::move(entries)) {
        index_.reserve(entries_.size());
        for (std::size_t i = 0; i < entries_.size(); ++i) index_.emplace(entries_[i].second->key(), i);
    }

    std::size_t size() const noexcept { return entries_.size(); }
    const pointer* find(std::string_view key) const noexcept {
        auto at = index_.find(key);
        return at == index_.end() ? nullptr : &entries_[at->second].second;
    }
    const pointer& operator[](std::size_t i) const noexcept { return entries_[i].second; }
    /// The number of entry `i`, for list().
    std::uint64_t number_of(std::size_t i) const noexcept { return entries_[i].first; }

    struct page {
        std::string_view items;             // JSON objects with commas between them
        std::size_t count = 0;              // number of items
        std::optional<std::uint64_t> last;  // set if more entries follow: the number of the last one here
    };
    /// At most `limit` entries with numbers above `after`. Numbers never change, so a client that reads page by page sees every
    /// entry that exists throughout exactly once, even if others are added and removed.
    page list(protocol::revision r, std::uint64_t after, std::size_t limit) const {
        const texts& all = texts_of(r);
        std::size_t first = first_above(after);
        std::size_t end = limit < entries_.size() - first ? first + limit : entries_.size();
        page p;
        p.count = end - first;
        if (p.count == 0) return p;
        std::size_t from = first == 0 ? 0 : all.ends[first - 1] + 1;  // past the comma
        p.items = std::string_view(all.text).substr(from, all.ends[end - 1] - from);
        if (end < entries_.size()) p.last = entries_[end - 1].first;
        return p;
    }

private:
    struct texts {
        std::string text;
        std::vector<std::size_t> ends;
    };

    std::size_t first_above(std::uint64_t number) const noexcept {
        std::size_t low = 0;
        std::size_t high = entries_.size();
        while (low < high) {
            std::size_t middle = (low + high) / 2;
            if (entries_[middle].first <= number) low = middle + 1;
            else high = middle;
        }
        return low;
    }

    const texts& texts_of(protocol::revision r) const {
        auto which = static_cast<std::size_t>(r);
        std::call_once(once_[which], [&] {
            texts made;
            made.ends.reserve(entries_.size());
            for (const auto& [number, entry] : entries_) {
                if (!made.text.empty()) made.text += ',';
                // Cannot fail: entries are validated when they are added.
                if (!json::write(made.text, entry->describe(r))) made.text += "null";
                made.ends.push_back(made.text.size());
            }
            texts_[which] = std::move(made);
        });
        return texts_[which];
    }

    std::vector<std::pair<std::uint64_t, pointer>> entries_;
    std::unordered_map<std::string_view, std::size_t> index_;
    // Several threads may request the first list at the same time.
    mutable std::array<std::once_flag, protocol::revision_count> once_;
    mutable std::array<texts, protocol::revision_count> texts_;
};

template <class Entry>
class registry {
public:
    using pointer = std::shared_ptr<const Entry>;

    /// Throws std::invalid_argument if the key exists and `replace` is false.
    void put(pointer entry, bool replace = false) {
        std::lock_guard lock(mutex_);
        auto at = by_key_.find(entry->key());
        if (at != by_key_.end()) {
            if (!replace) {
                throw std::invalid_argument(std::string("keel: ") + Entry::kind + " \"" + entry->key() +
                                            "\": already exists");
            }
            at->second.second = std::move(entry);  // keeps its position in the list
        } else {
            std::string key = entry->key();
            by_key_.emplace(std::move(key), std::pair(next_++, std::move(entry)));
        }
        changed();
    }

    bool remove(std::string_view key) {
        std::lock_guard lock(mutex_);
        auto at = by_key_.find(key);
        if (at == by_key_.end()) return false;
        by_key_.erase(at);
        changed();
        return true;
    }

    /// Changes whenever snapshot() would return another table.
    std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }
    bool empty() const {
        std::lock_guard lock(mutex_);
        return by_key_.empty();
    }

    /// Built at the first call after a change, so that adding many entries builds one table.
    std::shared_ptr<const table<Entry>> snapshot() const {
        std::lock_guard lock(mutex_);
        if (!snapshot_) {
            std::map<std::uint64_t, pointer> in_order;
            for (const auto& [key, numbered] : by_key_) in_order.emplace(numbered.first, numbered.second);
            snapshot_ = std::make_shared<const table<Entry>>(
                std::vector<std::pair<std::uint64_t, pointer>>(in_order.begin(), in_order.end()));
        }
        return snapshot_;
    }

private:
    void changed() {
        snapshot_.reset();
        version_.fetch_add(1, std::memory_order_release);
    }

    mutable std::mutex mutex_;  // guards by_key_, next_ and snapshot_
    std::map<std::string, std::pair<std::uint64_t, pointer>, std::less<>> by_key_;
    std::uint64_t next_ = 1;
    mutable std::shared_ptr<const table<Entry>> snapshot_;
    std::atomic<std::uint64_t> version_{1};
};

/// A session's reference to the newest snapshot. Access costs one atomic load.
template <class Entry>
class view {
public:
    const table<Entry>& of(const registry<Entry>& r) {
        std::uint64_t now = r.version();
        if (now != version_) {
            table_ = r.snapshot();
            version_ = now;
        }
        return *table_;
    }

private:
    std::shared_ptr<const table<Entry>> table_;
    std::uint64_t version_ = 0;
};

}  // namespace keel::server_side
