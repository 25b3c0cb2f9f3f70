#pragma once

// What a keel::client is made of: the connection it has now, how it gets one, and what it knows of its server.

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
    std::string_view name = {};  // for HTTP: what is called, read or got
    call_options how = {};
    bool progress = true;
    std::string_view feature = {};       // what a server must have declared to be asked this (LIFE-04); "": nothing
    time_point due = time_point::max();  // of the whole call, in which this may be one request of several
};

/// Appends what a caller adds to `_meta` to the text of its members. Throws std::invalid_argument for what is not the caller's to say.
void append_meta(std::string& text, const json::value& object);

/// Everything on its loop, except what says otherwise. Tasks of it keep it alive themselves.
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
    /// On a thread of its own; whoever made it waits in the destructor of keel::client.
    std::shared_ptr<async::epoll_loop> own_loop;
    std::thread thread;

    // ---- the connection (engine.cpp, opening.cpp) ----
    task<void> connect();
    task<void> close();
    /// Calls on a loop of the client's own that have not ended, and what to do when there is none. On the loop.
    std::size_t calls_running = 0;
    std::function<void()> when_idle;
    /// The client is gone: nobody connects any more.
    void end() noexcept { ended_ = true; }
    /// The connection to use: the one there is, or a new one if the policy says so. Throws keel::error of kind closed.
    task<session_ptr> ready(time_point due = time_point::max());
    /// The one there is, if it can be used; null otherwise.
    session_ptr in_use() const noexcept;
    void session_begun(const session_ptr& s);
    /// The loop has ended before the client: lets go of what would have ended on it.
    void abandon() noexcept;
    /// Nothing can be asked on it any more, though it may not have ended yet.
    void connection_lost(const client_session& which) noexcept;
    void session_ended(client_session& which, const std::string& cause);
    void renew_session(session_ptr which);

    // ---- requests (asking.cpp) ----
    // What is asked lives as long as the task. The results are borrowed: whoever waits again copies them before.
    /// One request and its result, as it came. Throws keel::error. `members` take the place of its own.
    task<json::value> ask(session_ptr s, outgoing_call& what, std::string_view members);
    task<json::value> ask(session_ptr s, outgoing_call& what) { return ask(std::move(s), what, what.members); }
    /// The same with the questions of the server answered until there is a result.
    task<json::value> ask_in_rounds(session_ptr s, outgoing_call& what, bool* asked_back = nullptr);
    task<request_round> ask_once(session_ptr s, outgoing_call& what, round_answers answers);
    /// A result that may come from the cache. `params` are those that tell it from others.
    task<json::value> ask_cached(session_ptr s, outgoing_call& what, json::value params);
    void notify(std::string_view method, const json::value& params);

    // ---- features (features.cpp) ----
    /// `arguments` are those of `members` once more, where they may be needed for headers.
    task<tool_result> call_tool(std::string name, std::string members, json::value arguments, call_options how);
    struct whole_list {
        time_point due;
        std::size_t bytes = 0;  // of the pages so far
    };
    /// `part_of`: what this page is one of.
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

    // ---- what the server asks (answers.cpp) ----
    /// The bare result. Throws keel::error for what the server is told instead.
    task<json::value> answer(client_session& to, std::string method, json::value params, std::stop_token token);
    protocol::client_capabilities capabilities(bool modern) const;

    // ---- what the server tells ----
    void on_notification(client_session& from, std::string_view method, const json::value& params);
    /// What user code throws is its own affair (D16).
    template <class F>
    void catch_and_log(const char* what, F f) const;

    client_side::response_cache cache;
    client_side::tool_catalog tools;

private:
    struct attempt;  // to connect; those who want it too wait for it
    enum class verdict : unsigned char { modern, legacy };

    task<void> connect_once();  // connects unless somebody is at it; then waits for that
    task<session_ptr> connected_again();
    task<std::exception_ptr> restart_once();  // with what it failed, if it did
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
    std::shared_ptr<attempt> restart_;  // the pause before it included
    bool was_connected_ = false;
    bool closed_ = false;  // by us: the next call does not restart
    bool ended_ = false;
    std::uint64_t closings_ =
        0;  // how often a close was asked for: whoever waits can tell that there was one meanwhile
    std::stop_source connect_stop_;
    std::vector<std::weak_ptr<client_session>> sessions_;  // that are not over
    std::string last_cause_;
    unsigned failed_restarts_ = 0;  // those included that no call has worked after
    time_point restart_at_{};       // not before
    std::unique_ptr<async::worker_pool> workers_;
    std::deque<std::string> open_elicitations_;  // URLs that a user was sent to and that are not complete

    std::atomic<bool> connected_{false};
    mutable std::mutex mutex_;  // of what follows; never held while anything is called
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
    } catch (...) {  // anything may be thrown; its text cannot be known
        log(log_level::error, std::string(what) + " failed");
    }
}

}  // namespace detail

/// For those parts of the library that look inside.
struct client_access {
    static const std::shared_ptr<detail::client_engine>& engine(const client& c) noexcept { return c.engine_; }
    static std::shared_ptr<loop> loop_of(const client& c) noexcept { return c.engine_ ? c.engine_->on : nullptr; }
    static const std::shared_ptr<client_side::connector>& connector_of(const server_target& t) noexcept {
        return t.connector_;
    }
};

}  // namespace keel
