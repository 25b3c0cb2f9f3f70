#pragma once

// What each client uses of a server, by IP address and by principal, so that one client cannot take everything. No I/O.

#include "http_common/ip_address.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace keel::inline KEEL_ABI::http {

/// Limits for each client; 0: no limit.
struct quota_limits {
    std::size_t connections = 0;
    std::size_t sessions = 0;
    std::size_t calls = 0;
};

/// The counts of one address or principal. Shared between threads by everything that is counted in it.
struct client_usage {
    explicit client_usage(std::string k) : key(std::move(k)) {}

    const std::string key;
    std::atomic<std::size_t> connections{0};
    std::atomic<std::size_t> sessions{0};
    std::atomic<std::size_t> calls{0};  // running handlers
};

/// One unit of a count, from take() until it is destroyed.
class counted_use {
public:
    using counter = std::atomic<std::size_t> client_usage::*;

    counted_use() = default;
    counted_use(counted_use&& from) noexcept : of_(std::move(from.of_)), what_(from.what_) {}
    counted_use& operator=(counted_use&& from) noexcept {
        if (this != &from) {
            release();
            of_ = std::move(from.of_);
            what_ = from.what_;
        }
        return *this;
    }
    ~counted_use() { release(); }

    /// Releases its unit, and takes one of another client. Returns false if the limit of that client is reached. Null is not counted.
    bool take(std::shared_ptr<client_usage> of, counter what, std::size_t limit) noexcept;
    void release() noexcept {
        if (auto of = std::exchange(of_, nullptr)) --((*of).*what_);
    }
    const std::shared_ptr<client_usage>& of() const noexcept { return of_; }

private:
    std::shared_ptr<client_usage> of_;
    counter what_ = nullptr;
};

/// A client by its address and by its principal. Null: not counted that way.
struct client_pair {
    std::shared_ptr<client_usage> address;
    std::shared_ptr<client_usage> principal;
};

/// One unit in both counts of a client.
class counted_pair {
public:
    /// Takes one unit of each. Returns null if that succeeded; otherwise changes nothing and returns the client whose limit is reached.
    const client_usage* take(const client_pair& of, counted_use::counter what, std::size_t limit) noexcept;
    void release() noexcept {
        address_.release();
        principal_.release();
    }
    client_pair of() const noexcept { return {address_.of(), principal_.of()}; }

private:
    counted_use address_;
    counted_use principal_;
};

/// The running calls of one session or connection, counted for its client until this object is destroyed.
class counted_calls {
public:
    counted_calls() = default;
    counted_calls(const counted_calls&) = delete;
    counted_calls& operator=(const counted_calls&) = delete;
    ~counted_calls() { update(0); }

    /// Call it before the first call.
    void count_for(client_pair of) noexcept { of_ = std::move(of); }
    /// The number of calls that run now.
    void update(std::size_t running) noexcept {
        if (running == counted_) return;
        for (client_usage* each : {of_.address.get(), of_.principal.get()}) {
            if (each) each->calls += running - counted_;  // modulo: it may be negative
        }
        counted_ = running;
    }
    /// How many more calls the client may have. 0 as the limit: any number.
    std::size_t room(std::size_t limit) const noexcept;

private:
    client_pair of_;
    std::size_t counted_ = 0;
};

/// The clients that use the server now. Thread-safe. An entry exists as long as something is counted in it or refers to it, so the
/// table is bounded by the numbers of connections and sessions.
class client_quotas {
public:
    explicit client_quotas(const quota_limits& limits);
    ~client_quotas();

    const quota_limits& limits() const noexcept { return limits_; }
    /// False: clients are not counted at all.
    bool active() const noexcept { return limits_.connections > 0 || limits_.sessions > 0 || limits_.calls > 0; }

    /// IPv6 addresses with the same first 64 bits are one client: a client usually has all of them. Null for no address, and if the
    /// quotas are not active.
    std::shared_ptr<client_usage> of(const ip_address& a);
    /// Null for "", which is an anonymous client, and if the quotas are not active.
    std::shared_ptr<client_usage> of_principal(std::string_view name);
    /// The same client as `was` names? Saves the search in the table.
    static bool is(const client_usage* was, const ip_address& a);
    static bool is_principal(const client_usage* was, std::string_view name) noexcept;
    /// Number of entries.
    std::size_t size() const;

private:
    struct table;
    std::shared_ptr<client_usage> find(std::string key);

    const quota_limits limits_;
    std::shared_ptr<table> table_;  // shared with the entries, which remove themselves
};

}  // namespace keel::http
