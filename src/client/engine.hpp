#pragma once

// The implementation of keel::client: the current connection, how it is opened, and what is known of the server.

#include "client/link.hpp"
#include "client/response_cache.hpp"
#include "client/tool_catalog.hpp"
#include "protocol/capabilities.hpp"
#include "protocol/revision.hpp"

#include <keel/async.hpp>
#include <keel/client.hpp>

#include <cxxabi.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace keel::inline KEEL_ABI {
namespace async {
class epoll_loop;
class worker_pool;
}  // namespace async
namespace client_side {
class client_session;
class subscription_state;
}  // namespace client_side

namespace detail {

/// A request to be sent: `members` is the text of its parameters without braces and without `_meta`.
struct outgoing_call {
    std::string_view method;
    std::string members = {};
    std::string_view name = {};  // for HTTP: the name or URI in the Mcp-Name header
    call_options how = {};
    bool progress = true;
    std::string_view feature = {};       // capability that the server must have declared (LIFE-04); "": none
    time_point due = time_point::max();  // deadline of the whole call, which may take several requests
};

/// Appends the caller's `_meta` entries to the text of its members. Throws std::invalid_argument for reserved or invalid entries.
void append_meta(std::string& text, const json::value& object);

/// Used on its loop only, except where noted. Its tasks keep it alive.
class client_engine : public std::enable_shared_from_this<client_engine> {
public:
    using client_session = client_side::client_session;
    using session_ptr = std::shared_ptr<client_session>;

    client_engine(std::shared_ptr<loop> on, std::shared_ptr<client_side::connector> where, client_options options);
    ~client_engine();

    // ---- any thread ----
    const std::shared_ptr<loop> on;
    const std::shared_ptr<client_side::connector> where;
    const client_options options;
    bool connected() const noexcept { return connected_.load(std::memory_order_acquire); }
    server_facts facts() const;
    void log(log_level level, std::string_view text) const;
    void set_roots(std::vector<keel::root> now);
    std::vector<keel::root> roots() const;
    bool offers_roots() const;
    std::optional<log_level> wanted_level() const;
    /// The client's own loop and its thread, joined in the destructor of keel::client.
    std::shared_ptr<async::epoll_loop> own_loop;
    std::thread thread;

    // ---- the connection (engine.cpp, handshake.cpp) ----
    task<void> connect();
    task<void> close();
    /// Running calls on the client's own loop, and a function to call when the last one ends. On the loop.
    std::size_t calls_running = 0;
    std::function<void()> when_idle;
    /// The client is destroyed: connect() fails from now on.
    void end() noexcept { ended_ = true; }
    /// The current connection, or a new one if the restart policy allows it. Throws keel::error of kind closed.
    task<session_ptr> ready(time_point due = time_point::max());
    /// The current connection if it is open, else null.
    session_ptr in_use() const noexcept;
    void session_begun(const session_ptr& s);
    /// The loop has ended before the client: releases the sessions, which cannot end on it any more.
    void abandon() noexcept;
    /// No more requests can be sent on this session, though it may not have ended yet.
    void connection_lost(const client_session& which) noexcept;
    void session_ended(client_session& which, const std::string& cause);
    void renew_session(session_ptr which);

    // ---- requests (requests.cpp) ----
    // The outgoing_call must outlive the task. Results are borrowed: copy them before the next co_await.
    /// Sends one request and returns its result as received. Throws keel::error. `members` replace those of the call.
    task<json::value> ask(session_ptr s, outgoing_call& what, std::string_view members);
    task<json::value> ask(session_ptr s, outgoing_call& what) { return ask(std::move(s), what, what.members); }
    /// The same; answers the server's input requests until there is a complete result.
    task<json::value> ask_in_rounds(session_ptr s, outgoing_call& what, bool* asked_back = nullptr);
    task<request_round> ask_once(session_ptr s, outgoing_call& what, round_answers answers);
    /// The same, from the cache if possible. `params` are part of the cache key.
    task<json::value> ask_cached(session_ptr s, outgoing_call& what, json::value params);
    void notify(std::string_view method, const json::value& params);

    // ---- features (features.cpp) ----
    /// `arguments` repeat those in `members`; needed over HTTP for the Mcp-Param headers, else null.
    task<tool_result> call_tool(std::string name, std::string members, json::value arguments, call_options how);
    struct whole_list {
        time_point due;
        std::size_t bytes = 0;  // of the pages so far
    };
    /// `part_of`: the list_all operation that this page belongs to, or null.
    template <class T>
    task<page<T>> list_page(std::optional<std::string> cursor, call_options how, whole_list* part_of = nullptr);
    template <class T>
    task<std::vector<T>> list_all(call_options how);
    task<std::vector<resource_contents>> read_resource(std::string uri, call_options how);
    task<prompt_result> get_prompt(std::string name, std::map<std::string, std::string> arguments, call_options how);
    task<completion> complete(bool of_prompt, std::string which, std::string argument, std::string value,
                              std::map<std::string, std::string> others, call_options how);
    task<void> ping(call_options how);
    task<void> set_log_level(log_level from, call_options how);
    task<json::value> request(std::string method, json::value params, call_options how);
    task<request_round> request_once(std::string method, json::value params, round_answers answers, call_options how);
    task<subscription> subscribe(subscription_request what, call_options how);

    // ---- requests and notifications from the server (server_requests.cpp) ----
    /// Returns the result. Throws keel::error for an error response.
    task<json::value> answer(client_session& to, std::string method, json::value params, std::stop_token token);
    protocol::client_capabilities capabilities(bool modern) const;

    void on_notification(client_session& from, std::string_view method, const json::value& params);
    /// Calls user code; logs exceptions instead of passing them on (D16).
    template <class F>
    void catch_and_log(const char* what, F f) const;

    client_side::response_cache cache;
    client_side::tool_catalog tools;

private:
    struct attempt;  // a connect in progress; concurrent callers wait for it
    enum class verdict : unsigned char { modern, legacy };

    task<void> connect_once();  // connects, or waits for a connect in progress
    task<session_ptr> connected_again();
    task<std::exception_ptr> restart_once();  // returns the failure, or null
    void reset_restarts() noexcept;
    time_point due_of(const call_options& how) const noexcept;
    task<session_ptr> open();
    task<session_ptr> open(session_ptr& tried);
    task<session_ptr> start_session();
    task<verdict> probe(session_ptr s);
    task<void> handshake(session_ptr s);
    task<void> handshake_with_fallback(session_ptr s);
    task<void> restore_level(session_ptr s);
    void adopt(const session_ptr& s);
    void set_facts(server_facts facts);
    [[noreturn]] void throw_not_connected() const;
    task<std::string> describe_loss(session_ptr s, std::string said);
    task<std::string> answer_all(session_ptr s, json::value result, unsigned round);
    task<subscription> listen(session_ptr s, subscription_request what, call_options how);
    task<subscription> subscribe_each(session_ptr s, subscription_request what, call_options how);
    task<void> unsubscribe(session_ptr s, std::vector<std::string> uris);
    void drop_subscriber(session_ptr s, const client_side::subscription_state* which);
    void remember_elicitation(std::string id);
    void add_mirrored(const client_session& s, outgoing_call& what, const json::value& params) const;
    async::worker_pool& workers();

    std::shared_ptr<era_memory> eras_;
    session_ptr current_;
    std::shared_ptr<attempt> attempt_;
    std::shared_ptr<attempt> restart_;  // including the delay before it
    bool was_connected_ = false;
    bool closed_ = false;  // by close(): the next call does not restart
    bool ended_ = false;
    std::uint64_t closings_ = 0;  // number of close() calls, so that a waiting task can detect one
    std::stop_source connect_stop_;
    std::vector<std::weak_ptr<client_session>> sessions_;  // that have not ended
    std::string last_cause_;
    unsigned failed_restarts_ = 0;  // restarts since the last successful call
    time_point restart_at_{};       // earliest time of the next restart
    std::unique_ptr<async::worker_pool> workers_;
    std::deque<std::string> open_elicitations_;  // ids of URL elicitations that are not complete

    std::atomic<bool> connected_{false};
    mutable std::mutex mutex_;  // guards the members below; never held during a call
    server_facts facts_;
    std::optional<std::vector<keel::root>> roots_;
    std::optional<log_level> level_;
};

template <class F>
void client_engine::catch_and_log(const char* what, F f) const {
    try {
        f();
    } catch (const std::exception& e) {
        log(log_level::error, std::string(what) + " failed: " + e.what());
    } catch (abi::__forced_unwind&) {
        throw;
    } catch (...) {  // user code may throw any type
        log(log_level::error, std::string(what) + " failed");
    }
}

}  // namespace detail

/// Access for other parts of the library.
struct client_access {
    static const std::shared_ptr<detail::client_engine>& engine(const client& c) noexcept { return c.engine_; }
    static std::shared_ptr<loop> loop_of(const client& c) noexcept { return c.engine_ ? c.engine_->on : nullptr; }
    static const std::shared_ptr<client_side::connector>& connector_of(const server_target& t) noexcept {
        return t.connector_;
    }
};

}  // namespace keel
