#pragma once

// Results that a server has said may be used again for a while (revision 2026-07-28: `ttlMs`). No clock: the time is handed in.

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

/// Roughly what a value takes in memory.
std::size_t footprint(const json::value& v) noexcept;

/// Of one client; on its loop only.
///
///     auto asked = cache.moment();                       // before the request is sent
///     …
///     cache.keep(method, params, who, result, now, asked);
///
/// `who` names the authorization context: whatever, besides the parameters, can make the server answer differently (a token, headers
/// of the caller's own). Results are found again only by the same `who` (CACHE-05). That goes for `public` ones too: nobody else uses
/// this cache, so all that sharing them could save is one request after a token has changed, and a server that is wrong about
/// `public` cannot make us show one user what belongs to another.
///
/// Requests with members that are not known here, `inputResponses` and `requestState` among them, are neither kept nor served
/// (CACHE-03, CACHE-04); so are those with members of the caller's own in `_meta`.
class response_cache {
public:
    explicit response_cache(const cache_settings& bounds);
    response_cache(const response_cache&) = delete;
    response_cache& operator=(const response_cache&) = delete;

    /// A result that is still fresh, or null.
    std::shared_ptr<const json::value> find(std::string_view method, const json::value& params, std::string_view who,
                                            time_point now);

    /// Grows with everything that makes results stale.
    std::uint64_t moment() const noexcept { return moment_; }
    /// Keeps a result, if it may be kept, in the place of an older one. `asked` is the moment before the request was sent: if a
    /// notification has come since, the result may be from before the change, and is not kept.
    void keep(std::string_view method, const json::value& params, std::string_view who, const json::value& result,
              time_point received, std::uint64_t asked);

    /// A notification has come: what it speaks of is stale (CACHE-09). Others are nothing.
    void on_notification(std::string_view method, const json::value& params);
    /// All pages of the list that this method gives: a cursor was refused (CACHE-10).
    void drop_list(std::string_view method);
    void clear();

    std::size_t entries() const noexcept { return entries_.size(); }
    std::size_t bytes() const noexcept { return bytes_; }

private:
    struct key {
        std::size_t method = 0;                // which of the cacheable ones
        std::optional<std::string> parameter;  // cursor or URI; "" is a cursor like any other
        std::string who;
        std::strong_ordering operator<=>(const key&) const = default;
    };
    struct entry {
        key name;
        std::shared_ptr<const json::value> result;  // shared with whoever is reading it when it is dropped
        time_point fresh_until;
        std::size_t bytes;
    };
    using entry_list = std::list<entry>;

    static std::optional<key> key_of(std::string_view method, const json::value& params, std::string_view who);
    void drop(entry_list::iterator which);
    template <class Which>
    void drop_those(std::size_t method, Which which);

    cache_settings bounds_;
    entry_list entries_;  // used last comes first
    std::map<key, entry_list::iterator> by_name_;
    std::size_t bytes_ = 0;
    std::uint64_t moment_ = 0;
    std::array<std::uint64_t, 6> stale_since_{};  // by method: when results of it were last made stale
};

}  // namespace keel::client_side
