#include "http_client/transfer_pool.hpp"

#include "http_client/redirect.hpp"
#include "tls/tls_client_context.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <utility>

namespace keel::inline KEEL_ABI::http_client {

namespace {

constexpr std::size_t max_waiting = 4096;
constexpr std::size_t for_urgent = 4;  // connections beyond the limit
// The server's own, and those of redirects: https on a few ports of the same host.
constexpr std::size_t max_groups = 4;

std::optional<std::string> from_environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
}

pool_options with_defaults(pool_options o) {
    if (!o.environment) o.environment = from_environment;
    o.max_connections = std::max<std::size_t>(o.max_connections, 1);
    return o;
}

}  // namespace

pool_core::pool_core(std::shared_ptr<loop> on, pool_options options, dialer dial)
    : loop_(std::move(on)), options_(with_defaults(std::move(options))), dial_(std::move(dial)) {
    const protocol::url_parts url = protocol::url_parts::parse(options_.url);
    origin_ = url.origin();
    path_ = url.target;
    group_for(url);
}

pool_core::~pool_core() { shut(); }

/// The group of a server, created if necessary. Null if there are max_groups already.
pool_core::group* pool_core::group_for(const protocol::url_parts& to) {
    for (const auto& each : groups_) {
        if (each->to.at.same_origin(to)) return each.get();
    }
    if (groups_.size() == max_groups) return nullptr;
    auto proxy = choose_proxy(to, options_.proxy, options_.environment);
    std::shared_ptr<const tls::tls_client_context> context;
    if (to.secure) {
        for (const auto& each : groups_) {
            if (each->to.tls) context = each->to.tls;
        }
        if (!context) context = std::make_shared<tls::tls_client_context>(options_.ca_file);
    }
    auto made = std::make_unique<group>(server_address(to, std::move(proxy), std::move(context)));
    return groups_.emplace_back(std::move(made)).get();
}

pool_core::group& pool_core::group_of(const server_address& to) noexcept {
    return **std::find_if(groups_.begin(), groups_.end(), [&](const auto& each) { return &each->to == &to; });
}

// ---- interface ----

pool_core::id pool_core::start(transfer_request what, transfer_user& user) {
    const id number = ++last_;
    transfer& t = transfers_[number];
    t.number = number;
    t.user = &user;
    t.what = std::move(what);
    if (t.what.lasting) ++lasting_;
    t.to = &groups_.front()->to;
    if (t.what.path.empty()) t.what.path = path_;
    if (std::string wrong = check_request(t.what); !wrong.empty()) {
        fail_later(t, transfer_failure::not_sent, std::move(wrong));
    } else if (waiting() >= max_waiting) {
        fail_later(t, transfer_failure::not_sent, "too many requests are waiting for a connection");
    } else {
        auto& line = groups_.front()->waiting;
        auto before = line.end();
        if (t.what.urgent)
            before = std::find_if(line.begin(), line.end(), [](auto* each) { return !each->what.urgent; });
        line.insert(before, &t);
        dispatch();
    }
    return number;
}

void pool_core::cancel(id which) noexcept {
    auto found = transfers_.find(which);
    if (found == transfers_.end()) return;
    transfer& t = found->second;
    if (client_connection* on = t.on) {
        auto kept = on->shared_from_this();
        kept->close();
        forget(*kept);
    } else if (!t.failing) {
        std::erase(group_of(*t.to).waiting, &t);
    }
    erase(found);
    // A waiting transfer may use the connection slot. Posted, because this function must not fail.
    if (waiting() > 0) {
        loop_->post([weak = weak_from_this()] {
            if (auto self = weak.lock(); self && !self->shut_) self->dispatch();
        });
    }
}

void pool_core::erase(std::unordered_map<id, transfer>::iterator which) noexcept {
    if (which->second.what.lasting) --lasting_;
    transfers_.erase(which);
}

bool pool_core::unsent(id which) const noexcept {
    auto found = transfers_.find(which);
    return found != transfers_.end() && !found->second.left;
}

void pool_core::pause(id which, bool yes) {
    auto found = transfers_.find(which);
    if (found == transfers_.end() || std::exchange(found->second.paused, yes) == yes) return;
    client_connection* on = found->second.on;
    if (!on) return;
    if (yes) on->pause();
    else on->resume();
}

void pool_core::close_idle() noexcept {
    const auto all = connections_;
    for (const auto& each : all) {
        if (!each->is_free()) continue;
        each->close();
        forget(*each);
    }
}

void pool_core::shut() noexcept {
    if (std::exchange(shut_, true)) return;
    loop_->stop_timer(std::exchange(timer_, 0));
    for (const auto& each : groups_) {
        each->waiting.clear();
        each->free.clear();
    }
    transfers_.clear();
    lasting_ = 0;
    failing_.clear();
    const auto all = std::exchange(connections_, {});
    for (const auto& each : all) each->close();
}

transfer_pool::counts pool_core::count() const noexcept {
    transfer_pool::counts out;
    out.opened = opened_;
    out.waiting = waiting();
    for (const auto& each : connections_) {
        if (!each->connecting()) ++out.connections;
        if (each->is_free()) ++out.idle;
    }
    for (const auto& each : transfers_) {
        if (each.second.on) ++out.active;
    }
    return out;
}

// ---- assigning connections to transfers ----

std::size_t pool_core::waiting() const noexcept {
    std::size_t n = 0;
    for (const auto& each : groups_) n += each->waiting.size();
    return n;
}

std::size_t pool_core::dialing(const group& g) const noexcept {
    return static_cast<std::size_t>(std::count_if(connections_.begin(), connections_.end(), [&](const auto& each) {
        return &each->to() == &g.to && each->connecting();
    }));
}

void pool_core::dispatch() {
    if (shut_) return;
    // Not recursive: calls from callbacks of a connection are handled by the loop below.
    again_ = true;
    if (dispatching_) return;
    struct turn {
        bool& flag;
        explicit turn(bool& f) noexcept : flag(f) { flag = true; }
        ~turn() { flag = false; }
    } here(dispatching_);
    while (std::exchange(again_, false)) {
        for (std::size_t i = 0; i != groups_.size(); ++i) serve(*groups_[i]);
    }
}

void pool_core::serve(group& g) {
    while (!g.waiting.empty() && may_begin(*g.waiting.front())) {
        client_connection* on = take_free(g);
        if (!on) break;
        transfer& t = *g.waiting.front();
        g.waiting.pop_front();
        on->send(t);
    }
    if (g.waiting.empty()) return;
    // One connection attempt for each waiting transfer.
    connection_owner& owner = *this;
    while (g.free.empty() && g.waiting.size() > dialing(g)) {
        const bool urgent = dialing(g) < urgent_waiting(g);
        if (connections_.size() >= usual_bound() + (urgent ? for_urgent : 0) && !make_room(g)) return;
        auto made = std::make_shared<client_connection>(owner, *loop_, options_, g.to, last_);
        connections_.push_back(made);
        made->dial(dial_);
    }
}

/// Connections beyond the limit are reserved for urgent transfers, even if they are free.
bool pool_core::may_begin(const transfer& t) const noexcept {
    if (t.what.urgent || t.what.lasting || connections_.size() <= usual_bound()) return true;
    const auto usual = std::count_if(connections_.begin(), connections_.end(), [](const auto& each) {
        const transfer* on = each->serves();
        return on && !on->what.urgent && !on->what.lasting;
    });
    return static_cast<std::size_t>(usual) < options_.max_connections;
}

std::size_t pool_core::urgent_waiting(const group& g) noexcept {
    return static_cast<std::size_t>(
        std::count_if(g.waiting.begin(), g.waiting.end(), [](const transfer* each) { return each->what.urgent; }));
}

/// The most recently used one, so that the others reach their idle timeout.
client_connection* pool_core::take_free(group& g) {
    const time_point now = g.free.empty() ? time_point() : loop_->now();
    while (!g.free.empty()) {
        client_connection* last = g.free.back();
        g.free.pop_back();
        if (last->deadline() > now) return last;
        last->close();
        forget(*last);
    }
    return nullptr;
}

/// Closes an idle connection to another server. Returns false if there is none.
bool pool_core::make_room(const group& for_whom) noexcept {
    for (const auto& each : groups_) {
        if (each.get() == &for_whom || each->free.empty()) continue;
        client_connection* oldest = each->free.front();
        oldest->close();
        forget(*oldest);
        return true;
    }
    return false;
}

void pool_core::forget(client_connection& c) noexcept {
    std::erase(group_of(c.to()).free, &c);
    auto found =
        std::find_if(connections_.begin(), connections_.end(), [&](const auto& each) { return each.get() == &c; });
    if (found == connections_.end()) return;
    const auto kept = std::move(*found);
    connections_.erase(found);
}

// ---- callbacks of connections ----

void pool_core::on_free(client_connection& c) {
    if (!c.used()) ++opened_;
    group_of(c.to()).free.push_back(&c);
    if (waiting() > 0) dispatch();
}

void pool_core::on_gone(client_connection& c) {
    if (shut_) return;
    forget(c);
    if (waiting() > 0) dispatch();
}

void pool_core::on_no_connection(client_connection& c, std::string why) {
    auto self = shared_from_this();
    const auto kept = c.shared_from_this();
    if (shut_) return;
    forget(c);
    if (options_.report) options_.report(why);
    // Other attempts in progress may serve some waiting transfers. Transfers started after this attempt get their own.
    group& g = group_of(c.to());
    std::size_t others = dialing(g);
    while (g.waiting.size() > others && g.waiting.front()->number <= c.newest()) {
        transfer& t = *g.waiting.front();
        g.waiting.pop_front();
        fail_later(t, transfer_failure::not_sent, why);
    }
    dispatch();
}

void pool_core::on_complete(transfer& t) {
    auto self = shared_from_this();
    transfer_user* user = t.user;
    erase(transfers_.find(t.number));
    user->on_end();
}

void pool_core::on_broken(transfer& t, transfer_failure what, std::string why, bool later) {
    auto self = shared_from_this();
    if (later) return fail_later(t, what, std::move(why));
    transfer_user* user = t.user;
    erase(transfers_.find(t.number));
    user->on_failure(what, why);
}

void pool_core::on_unsent(transfer& t, std::string why, bool reused) {
    if (!reused) return fail_later(t, transfer_failure::not_sent, std::move(why));
    // The idle connection was already closed by the server. No byte of this request was sent, so sending it on another connection is not a retry.
    group_of(*t.to).waiting.push_front(&t);
    dispatch();
}

void pool_core::fail_later(transfer& t, transfer_failure what, std::string why) {
    t.failing = true;
    t.on = nullptr;
    t.failure = what;
    t.why = std::move(why);
    failing_.push_back(t.number);
    if (failing_.size() > 1) return;
    loop_->post([weak = weak_from_this()] {
        if (auto self = weak.lock()) self->tell_failures();
    });
}

void pool_core::tell_failures() {
    const std::vector<id> told = std::exchange(failing_, {});
    for (id each : told) {
        auto found = transfers_.find(each);  // cancelled meanwhile, or the pool is shut down
        if (found == transfers_.end()) continue;
        const transfer t = std::move(found->second);
        if (t.what.lasting) --lasting_;
        transfers_.erase(found);
        t.user->on_failure(t.failure, t.why);
    }
}

bool pool_core::on_redirection(transfer& t, const response_view& response) {
    if (t.redirections >= options_.max_redirects) return false;
    protocol::url_parts from = t.to->at;
    from.target = t.what.path;
    const std::optional<protocol::url_parts> target = redirect_target(from, response.header("location"));
    if (!target) return false;
    group* there = nullptr;
    try {
        there = group_for(*target);
    } catch (const std::exception& e) {  // no certificates, or an invalid proxy
        if (options_.report) options_.report("redirect to " + target->origin() + " not followed: " + e.what());
    }
    if (!there) return false;
    if (&there->to != t.to && drop_credentials(t.what.headers) && options_.report) {
        options_.report("redirected from " + from.origin() + " to " + target->origin() +
                        ": credentials are not sent there, use that URL instead");
    }
    t.what.body = t.on->take_back_body();
    t.what.path = target->target;
    t.to = &there->to;
    t.on = nullptr;
    ++t.redirections;
    there->waiting.push_front(&t);
    return true;
}

// ---- time ----

// One timer for all connections; restarted only if it would fire too late.
void pool_core::on_deadline(time_point when) {
    if (when == time_point::max() || (timer_ != 0 && timer_at_ <= when)) return;
    loop_->stop_timer(timer_);
    timer_at_ = when;
    timer_ = loop_->start_timer(when, [weak = weak_from_this()] {
        if (auto self = weak.lock()) self->look_at_time();
    });
}

void pool_core::look_at_time() {
    timer_ = 0;
    const time_point now = loop_->now();
    const auto all = connections_;
    for (const auto& each : all) each->check_time(now);
    if (shut_) return;
    time_point next = time_point::max();
    for (const auto& each : connections_) next = std::min(next, each->deadline());
    on_deadline(next);
}

// ---- transfer_pool ----

namespace {

class pool final : public transfer_pool {
public:
    explicit pool(std::shared_ptr<pool_core> core) : core_(std::move(core)) {}
    ~pool() override { core_->shut(); }

    id start(transfer_request what, transfer_user& user) override { return core_->start(std::move(what), user); }
    void cancel(id which) noexcept override { core_->cancel(which); }
    bool unsent(id which) const noexcept override { return core_->unsent(which); }
    void pause(id which, bool yes) override { core_->pause(which, yes); }
    void close_idle() noexcept override { core_->close_idle(); }
    counts count() const noexcept override { return core_->count(); }
    const std::string& origin() const noexcept override { return core_->origin(); }
    const std::string& path() const noexcept override { return core_->path(); }

private:
    std::shared_ptr<pool_core> core_;
};

}  // namespace

std::unique_ptr<transfer_pool> make_transfer_pool(std::shared_ptr<loop> on, pool_options options, dialer dial) {
    return std::make_unique<pool>(std::make_shared<pool_core>(std::move(on), std::move(options), std::move(dial)));
}

std::unique_ptr<transfer_pool> transfer_pool::create(std::shared_ptr<loop> on, pool_options options) {
    return make_transfer_pool(std::move(on), std::move(options), connect_tcp);
}

}  // namespace keel::http_client
