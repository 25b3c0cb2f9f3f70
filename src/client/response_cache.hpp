#pragma once

// A cache of results that the server allows to be reused (`ttlMs`, revision 2026-07-28). It has no clock: callers pass the time.

#include <keel/client.hpp>
#include <keel/json.hpp>
#include <keel/loop.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::client_side {

/// Approximate memory use of a value in bytes.
std::size_t footprint(const json::value& v) noexcept;

/// Belongs to one client; used on its loop only.
///
///     auto asked = cache.moment();                       // before the request is sent
///     …
///     cache.keep(method, params, who, result, now, asked);
///
/// `who` names the authorization context: everything besides the parameters that can change the result (a token, headers of the
/// caller). Results are found only with the same `who` (CACHE-05). This includes `public` results: sharing them would save only one
/// request after a token has changed, and a server that wrongly sends `public` must not leak data of one user to another.
///
/// Requests with unknown members, such as `inputResponses` and `requestState`, are not cached (CACHE-03, CACHE-04), nor are requests
/// with `_meta` entries of the caller.
class response_cache {
public:
    explicit response_cache(const cache_settings& bounds);
    response_cache(const response_cache&) = delete;
    response_cache& operator=(const response_cache&) = delete;

    /// A fresh result, or null.
    std::shared_ptr<const json::value> find(std::string_view method, const json::value& params, std::string_view who,
                                            time_point now);

    /// A counter that grows with each invalidation.
    std::uint64_t moment() const noexcept { return moment_; }
    /// Stores a cacheable result; replaces an older one. `asked` is moment() before the request was sent: if a notification has
    /// arrived since, the result may predate the change and is not stored.
    void keep(std::string_view method, const json::value& params, std::string_view who, const json::value& result,
              time_point received, std::uint64_t asked);

    /// Invalidates the results that a notification refers to (CACHE-09). Other notifications are ignored.
    void on_notification(std::string_view method, const json::value& params);
    /// Drops all pages of a list; called when the server has rejected a cursor (CACHE-10).
    void drop_list(std::string_view method);
    void clear();

    std::size_t entries() const noexcept { return entries_.size(); }
    std::size_t bytes() const noexcept { return bytes_; }

private:
    struct key {
        std::size_t method = 0;                // index into the table of cacheable methods
        std::optional<std::string> parameter;  // cursor or URI; "" is a valid cursor
        std::string who;
        std::strong_ordering operator<=>(const key&) const = default;
    };
    struct entry {
        key name;
        std::shared_ptr<const json::value>
            result;  // shared, so that dropping the entry does not invalidate a result in use
        time_point fresh_until;
        std::size_t bytes;
    };
    using entry_list = std::list<entry>;

    static std::optional<key> key_of(std::string_view method, const json::value& params, std::string_view who);
    void drop(entry_list::iterator which);
    template <class Which>
    void drop_those(std::size_t method, Which which);

    cache_settings bounds_;
    entry_list entries_;  // most recently used first
    std::map<key, entry_list::iterator> by_name_;
    std::size_t bytes_ = 0;
    std::uint64_t moment_ = 0;
    std::array<std::uint64_t, 6> stale_since_{};  // by method: the moment of the last invalidation
};

}  // namespace keel::client_side
