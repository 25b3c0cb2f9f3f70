#include "server/subscriber.hpp"

#include "protocol/uri.hpp"
#include "rpc/message.hpp"
#include "server/invocation.hpp"
#include "server/server_core.hpp"
#include "server/topics.hpp"

#include <keel/async.hpp>
#include <keel/error.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::server_side {

namespace {

constexpr std::string_view subscription_id_key = "io.modelcontextprotocol/subscriptionId";
/// Limits the id, which is repeated in every notification.
constexpr std::size_t longest_id = 1024;
/// Minimum delay before a client whose queue is full is checked again.
constexpr duration shortest_retry = std::chrono::milliseconds(10);

struct kind_names {
    std::string_view method;
    std::string_view filter;
};
constexpr std::array<kind_names, list_kinds> names = {{
    {"notifications/tools/list_changed", "toolsListChanged"},
    {"notifications/resources/list_changed", "resourcesListChanged"},
    {"notifications/prompts/list_changed", "promptsListChanged"},
}};

using kind_set = std::array<bool, list_kinds>;
constexpr std::size_t index(list_kind which) noexcept { return static_cast<std::size_t>(which); }

[[noreturn]] void refuse(rpc::failure why) { throw error(why.code, why.message, std::move(why.data)); }

std::string checked_uri(const json::value& given, const char* where, std::size_t longest) {
    auto text = given.if_string();
    if (!text) invalid_params(std::string(where) + ": expected string");
    if (text->size() > longest) invalid_params(std::string(where) + ": too long");
    if (!protocol::is_valid_uri(*text)) invalid_params(std::string(where) + ": invalid URI: " + rpc::printable(*text));
    return std::string(*text);
}

/// The filter of a listen.
struct filter {
    kind_set lists{};
    std::optional<std::vector<std::string>> uris;  // without duplicates

    static filter from(const json::value& params, std::size_t longest_uri) {
        const json::value& given = params["notifications"];
        if (!given.is_object()) invalid_params("notifications: expected object");
        filter f;
        for (std::size_t k = 0; k < list_kinds; ++k) {
            const json::value* wanted = given.find(names[k].filter);
            if (!wanted) continue;
            if (!wanted->is_bool())
                invalid_params("notifications." + std::string(names[k].filter) + ": expected boolean");
            f.lists[k] = wanted->as_bool();
        }
        if (const json::value* wanted = given.find("resourceSubscriptions")) {
            if (!wanted->is_array()) invalid_params("notifications.resourceSubscriptions: expected array");
            f.uris.emplace();
            std::set<std::string> seen;
            for (const json::value& each : wanted->items()) {
                std::string uri = checked_uri(each, "notifications.resourceSubscriptions", longest_uri);
                if (seen.insert(uri).second) f.uris->push_back(std::move(uri));
            }
        }
        return f;
    }

    /// SUB-04: removes what this server does not support.
    void keep_supported(const server_core& server) {
        if (!server.offers_resources()) {
            lists[index(list_kind::resources)] = false;
            uris.reset();
        }
        if (!server.offers_prompts()) lists[index(list_kind::prompts)] = false;
    }

    json::value as_json() const {
        json::value v = json::object();
        for (std::size_t k = 0; k < list_kinds; ++k) {
            if (lists[k]) v.append(std::string(names[k].filter), true);
        }
        if (uris) {
            json::value& all = v.append("resourceSubscriptions", json::array());
            for (const std::string& each : *uris) all.push_back(each);
        }
        return v;
    }
};

}  // namespace

/// Shared by the session and its running listens, which end in either order. The topic board and timers have weak references.
class subscriber::state final : public topic_listener, public std::enable_shared_from_this<state> {
public:
    state(server_core& server, bool announce_end)
        : server_(server), bounds_(server.options.limits), announce_end_(announce_end) {}
    ~state() = default;

    void start(const std::shared_ptr<rpc::peer>& p) { peer_ = p; }

    void begin_legacy(bool resources, bool prompts) {
        kind_set& lists = streams_[older_client].lists;
        lists[index(list_kind::tools)] = true;
        lists[index(list_kind::resources)] = resources;
        lists[index(list_kind::prompts)] = prompts;
    }

    void list_changed(list_kind which) {
        for (auto& [key, each] : streams_) {
            if (each.lists[index(which)]) each.due_lists[index(which)] = true;
        }
        pump();
    }

    void on_updated(const std::string& uri) override {
        for (auto& [key, each] : streams_) {
            auto at = each.uris.find(uri);
            if (at != each.uris.end() && !std::exchange(at->second, true)) each.due_uris.push_back(&at->first);
        }
        pump();
    }

    void subscribe(const json::value& params) {
        std::string uri = checked_uri(params["uri"], "uri", bounds_.max_uri);
        stream& s = streams_[older_client];
        if (s.uris.contains(uri)) return;
        make_room(1);
        want(uri);
        s.uris.emplace(std::move(uri), false);
    }

    void unsubscribe(const json::value& params) {
        std::string uri = checked_uri(params["uri"], "uri", bounds_.max_uri);
        auto at = streams_.find(older_client);
        if (at == streams_.end()) return;
        stream& s = at->second;
        auto wanted = s.uris.find(uri);
        if (wanted == s.uris.end()) return;
        if (wanted->second) std::erase(s.due_uris, &wanted->first);
        s.uris.erase(wanted);
        unwant(uri);
    }

    static task<std::string> listen(std::shared_ptr<state> self, std::shared_ptr<rpc::request> request, json::value id,
                                    json::value params) {
        event ended;
        const std::uint64_t key = self->open(request->id(), id, params, ended);
        const leave_at_end leaving(*self, key);
        params = {};  // free the memory: a listen may stay open for days
        self->pump();
        co_await ended;
        co_return self->result(id);
    }

    void end_gracefully() {
        auto self = shared_from_this();
        ending_ = true;
        auto p = peer_.lock();
        if (!p) return;
        std::vector<std::uint64_t> keys;
        for (const auto& [key, each] : streams_) keys.push_back(key);
        for (std::uint64_t key : keys) {
            auto at = streams_.find(key);
            if (at == streams_.end() || !at->second.ended) continue;
            if (!p->core().is_open(at->second.request)) continue;  // cancelled: send nothing
            acknowledge(*p, at->second);
            at = streams_.find(key);
            if (at == streams_.end()) continue;
            rpc::serial request = at->second.request;
            std::string cancelled = R"({"requestId":)" + at->second.id + "}";
            at->second.ended->set();  // answers the listen before this returns, unless a middleware waits
            if (announce_end_ && !p->core().is_open(request)) p->notify("notifications/cancelled", cancelled, false);
        }
    }

    void end() {
        ending_ = true;
        if (auto p = peer_.lock()) p->loop().stop_timer(std::exchange(timer_, 0));
        peer_.reset();
        if (board_) {
            for (const auto& [uri, count] : wanted_) board_->remove(uri, board_key_);
        }
        wanted_.clear();
        streams_.clear();
        subscriptions_ = 0;
        board_.reset();
    }

    std::size_t open_listens() const noexcept { return streams_.size() - streams_.count(older_client); }
    std::size_t subscriptions() const noexcept { return subscriptions_; }

private:
    /// A listen, or all notifications of a client up to 2025-11-25.
    struct stream {
        rpc::serial request = 0;  // the listen; 0: a client up to 2025-11-25
        std::string id;           // as JSON
        event* ended = nullptr;
        std::string acknowledgement;  // not sent yet
        kind_set lists{};
        kind_set due_lists{};
        std::map<std::string, bool> uris;         // true: due
        std::deque<const std::string*> due_uris;  // keys of `uris`, in order of change
    };
    static constexpr std::uint64_t older_client = 0;  // the key of its stream

    class leave_at_end {
    public:
        leave_at_end(state& of, std::uint64_t key) noexcept : of_(of), key_(key) {}
        leave_at_end(const leave_at_end&) = delete;
        leave_at_end& operator=(const leave_at_end&) = delete;
        ~leave_at_end() { of_.leave(key_); }

    private:
        state& of_;
        std::uint64_t key_;
    };

    // ---- subscriptions ----

    void make_room(std::size_t more) const {
        if (more > bounds_.max_subscriptions - std::min(subscriptions_, bounds_.max_subscriptions)) {
            invalid_params("too many subscriptions: at most " + std::to_string(bounds_.max_subscriptions));
        }
    }

    void want(const std::string& uri) {
        if (!board_) {
            auto p = peer_.lock();
            if (!p) return;
            board_ = server_.topics.board_of(p->shared_loop(), bounds_.notification_interval);
            board_key_ = board_->next_key();
        }
        ++subscriptions_;
        if (++wanted_[uri] == 1) board_->add(uri, board_key_, weak_from_this());
    }

    void unwant(const std::string& uri) {
        auto at = wanted_.find(uri);
        if (at == wanted_.end()) return;
        --subscriptions_;
        if (--at->second > 0) return;
        wanted_.erase(at);
        board_->remove(uri, board_key_);
        if (wanted_.empty()) board_.reset();
    }

    // ---- listens ----

    std::uint64_t open(rpc::serial request, const json::value& id, const json::value& params, event& ended) {
        filter f = filter::from(params, bounds_.max_uri);
        stream s;
        s.request = request;
        s.id = json::to_string(id);
        if (s.id.size() > longest_id) invalid_params("the request id is too long for a subscription");
        if (ending_) refuse(rpc::refused_by_shutdown_error());
        if (open_listens() >= bounds_.max_listens) {
            rpc::failure why = rpc::overloaded_error("too many open subscriptions");
            why.data.set("limit", bounds_.max_listens);
            refuse(std::move(why));
        }
        f.keep_supported(server_);
        if (f.uris) make_room(f.uris->size());
        s.acknowledgement = R"({"notifications":)" + json::to_string(f.as_json()) + meta_of(s) + "}";
        s.ended = &ended;
        s.lists = f.lists;
        if (f.uris) {
            for (std::string& uri : *f.uris) {
                want(uri);
                s.uris.emplace(std::move(uri), false);
            }
        }
        const std::uint64_t key = ++last_key_;
        streams_.emplace(key, std::move(s));
        return key;
    }

    void leave(std::uint64_t key) {
        auto at = streams_.find(key);
        if (at == streams_.end()) return;
        for (const auto& [uri, due] : at->second.uris) unwant(uri);
        streams_.erase(at);
    }

    std::string result(const json::value& id) const {
        return R"({"resultType":"complete","_meta":{")" + std::string(subscription_id_key) +
               "\":" + json::to_string(id) + ",\"" + std::string(protocol::meta_key::server_info) +
               "\":" + server_.info_json(protocol::latest) + "}}";
    }

    static std::string meta_of(const stream& s) {
        return R"(,"_meta":{")" + std::string(subscription_id_key) + "\":" + s.id + "}";
    }

    // ---- notifications ----

    bool crowded(rpc::peer& p, const stream& s) const noexcept {
        return p.core().queued_bytes(s.request) >= bounds_.out_queue_soft;
    }

    static void send(rpc::peer& p, const stream& s, std::string_view method, std::string_view params) {
        if (s.request == 0) {
            p.notify(method, params);
        } else {
            p.send_scoped(s.request, method, params, false);
        }
    }

    static void acknowledge(rpc::peer& p, stream& s) {
        if (s.acknowledgement.empty()) return;
        std::string params = std::exchange(s.acknowledgement, {});
        send(p, s, "notifications/subscriptions/acknowledged", params);
    }

    /// Sends one pending notification of the stream; returns false if there is none. The stream may be destroyed afterwards, since
    /// sending can detect a closed connection.
    bool tell_one(rpc::peer& p, stream& s, const kind_set& rested, kind_set& told) {
        if (!s.acknowledgement.empty()) {
            acknowledge(p, s);
            return true;
        }
        for (std::size_t k = 0; k < list_kinds; ++k) {
            if (!s.due_lists[k] || !rested[k]) continue;
            s.due_lists[k] = false;
            told[k] = true;
            std::string params = s.request == 0 ? std::string() : "{" + meta_of(s).substr(1) + "}";
            send(p, s, names[k].method, params);
            return true;
        }
        if (s.due_uris.empty()) return false;
        std::string params = R"({"uri":)";
        const std::string& uri = *s.due_uris.front();
        s.due_uris.pop_front();
        s.uris[uri] = false;
        bool writable = json::write_string(params, uri);
        params += s.request == 0 ? "}" : meta_of(s) + "}";
        if (writable) send(p, s, "notifications/resources/updated", params);
        return true;
    }

    /// Sends pending notifications until the client's queue is full.
    void pump() {
        auto p = peer_.lock();
        if (!p || p->closed()) return;
        auto self = shared_from_this();
        const time_point now = p->loop().now();
        kind_set rested{};
        kind_set told{};
        for (std::size_t k = 0; k < list_kinds; ++k) rested[k] = rest_until_[k] <= now;

        bool full = false;
        std::uint64_t key = begin_with_;
        for (std::size_t n = streams_.size(); n > 0 && !full; --n) {
            auto at = streams_.lower_bound(key);
            if (at == streams_.end()) at = streams_.begin();
            if (at == streams_.end()) break;
            key = at->first;
            bool heard = false;
            while (at != streams_.end()) {
                full = crowded(*p, at->second) && has_due(at->second, rested);
                if (full || !tell_one(*p, at->second, rested, told)) break;
                heard = true;
                at = streams_.find(key);
            }
            if (!full || heard) ++key;
        }
        begin_with_ = full ? key : 0;  // round robin: continue here next time

        for (std::size_t k = 0; k < list_kinds; ++k) {
            if (told[k]) rest_until_[k] = after(now, bounds_.notification_interval);
        }
        if (peer_.expired()) return;  // the connection was closed meanwhile
        if (full) arm(*p, after(now, std::max<duration>(bounds_.notification_interval, shortest_retry)));
        for (const auto& [each, s] : streams_) {
            for (std::size_t k = 0; k < list_kinds; ++k) {
                if (s.due_lists[k] && rest_until_[k] > now) arm(*p, rest_until_[k]);
            }
        }
    }

    static bool has_due(const stream& s, const kind_set& rested) {
        if (!s.acknowledgement.empty() || !s.due_uris.empty()) return true;
        for (std::size_t k = 0; k < list_kinds; ++k) {
            if (s.due_lists[k] && rested[k]) return true;
        }
        return false;
    }

    void arm(rpc::peer& p, time_point when) {
        if (timer_ != 0 && timer_at_ <= when) return;
        p.loop().stop_timer(std::exchange(timer_, 0));
        if (when == time_point::max()) return;
        timer_at_ = when;
        timer_ = p.loop().start_timer(when, [weak = weak_from_this()] {
            if (auto self = weak.lock()) {
                self->timer_ = 0;
                self->pump();
            }
        });
    }

    server_core& server_;
    const limits bounds_;
    const bool announce_end_;
    std::weak_ptr<rpc::peer> peer_;
    bool ending_ = false;

    std::map<std::uint64_t, stream> streams_;
    std::uint64_t last_key_ = older_client;
    std::uint64_t begin_with_ = 0;

    std::map<std::string, std::size_t> wanted_;  // number of streams per URI
    std::size_t subscriptions_ = 0;
    std::shared_ptr<topic_board> board_;
    std::uint64_t board_key_ = 0;

    std::array<time_point, list_kinds> rest_until_{};
    loop::timer timer_ = 0;
    time_point timer_at_{};
};

subscriber::subscriber(server_core& server, bool announce_end)
    : state_(std::make_shared<state>(server, announce_end)) {}
subscriber::~subscriber() = default;

void subscriber::start(std::shared_ptr<rpc::peer> peer) { state_->start(peer); }
void subscriber::begin_legacy(protocol::revision, bool resources_declared, bool prompts_declared) {
    state_->begin_legacy(resources_declared, prompts_declared);
}
void subscriber::list_changed(list_kind which) { state_->list_changed(which); }
void subscriber::subscribe(const json::value& params) { state_->subscribe(params); }
void subscriber::unsubscribe(const json::value& params) { state_->unsubscribe(params); }
task<std::string> subscriber::listen(std::shared_ptr<rpc::request> request, json::value id, json::value params) {
    return state::listen(state_, std::move(request), std::move(id), std::move(params));
}
void subscriber::end_gracefully() { state_->end_gracefully(); }
void subscriber::end() { state_->end(); }
std::size_t subscriber::open_listens() const noexcept { return state_->open_listens(); }
std::size_t subscriber::subscriptions() const noexcept { return state_->subscriptions(); }

}  // namespace keel::server_side
