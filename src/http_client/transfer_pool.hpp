#pragma once

// The implementation of transfer_pool: connections and the transfers that wait for one.

#include "http_client/client_connection.hpp"
#include "http_client/server_address.hpp"
#include "http_client/transfer.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::http_client {

/// With another dialer, for tests.
std::unique_ptr<transfer_pool> make_transfer_pool(std::shared_ptr<loop> on, pool_options options, dialer dial);

/// The shared state of a transfer_pool, which its user may destroy in a callback.
class pool_core final : private connection_owner, public std::enable_shared_from_this<pool_core> {
public:
    using id = transfer_pool::id;

    pool_core(std::shared_ptr<loop> on, pool_options options, dialer dial);
    ~pool_core();

    id start(transfer_request what, transfer_user& user);
    void cancel(id which) noexcept;
    bool unsent(id which) const noexcept;
    void pause(id which, bool yes);
    void close_idle() noexcept;
    /// Ends all transfers and closes all connections without callbacks.
    void shut() noexcept;

    transfer_pool::counts count() const noexcept;
    const std::string& origin() const noexcept { return origin_; }
    const std::string& path() const noexcept { return path_; }

private:
    /// A server. A second group is the target of a redirect from http to https.
    struct group {
        explicit group(server_address e) : to(std::move(e)) {}
        const server_address to;
        std::deque<transfer*> waiting;
        std::vector<client_connection*> free;  // most recently used last
    };

    void on_free(client_connection&) override;
    void on_no_connection(client_connection&, std::string why) override;
    void on_gone(client_connection&) override;
    void on_complete(transfer&) override;
    void on_broken(transfer&, transfer_failure, std::string why, bool later) override;
    void on_unsent(transfer&, std::string why, bool reused) override;
    bool on_redirection(transfer&, const response_view&) override;
    void on_redirected() override { dispatch(); }
    void on_deadline(time_point when) override;

    group& group_of(const server_address&) noexcept;
    group* group_for(const protocol::url_parts& to);
    void dispatch();
    void serve(group&);
    client_connection* take_free(group&);
    bool make_room(const group& for_whom) noexcept;
    std::size_t dialing(const group&) const noexcept;
    bool may_begin(const transfer&) const noexcept;
    static std::size_t urgent_waiting(const group&) noexcept;
    /// The connection limit: each open stream adds one.
    std::size_t usual_bound() const noexcept { return options_.max_connections + lasting_; }
    std::size_t waiting() const noexcept;
    void forget(client_connection&) noexcept;
    void erase(std::unordered_map<id, transfer>::iterator which) noexcept;
    void fail_later(transfer&, transfer_failure, std::string why);
    void tell_failures();
    void look_at_time();

    const std::shared_ptr<loop> loop_;
    const pool_options options_;
    const dialer dial_;
    std::string origin_;
    std::string path_;
    std::vector<std::unique_ptr<group>> groups_;  // at most max_groups; never removed
    std::vector<std::shared_ptr<client_connection>> connections_;
    std::unordered_map<id, transfer> transfers_;
    std::size_t lasting_ = 0;  // number of transfers with `lasting`
    std::vector<id> failing_;
    id last_ = 0;
    std::size_t opened_ = 0;
    loop::timer timer_ = 0;
    time_point timer_at_ = time_point::max();
    bool dispatching_ = false;
    bool again_ = false;
    bool shut_ = false;
};

}  // namespace keel::http_client
