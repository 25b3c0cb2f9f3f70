#pragma once

// An MCP client, for servers over stdio, sockets and HTTP and of every protocol revision.
//
//     keel::client client({.command = "./calculator"});
//     co_await client.connect();
//     keel::tool_result sum = co_await client.call_tool("add", json::object("a", 1, "b", 2));
//
// keel/run.hpp runs such a coroutine. Programs without coroutines use keel/blocking_client.hpp.
//
// Types that are passed to a co_await have constructors, because g++ 12 destroys temporaries of aggregates twice there.

#include <keel/answering.hpp>
#include <keel/call.hpp>
#include <keel/limits.hpp>
#include <keel/log.hpp>
#include <keel/log_level.hpp>
#include <keel/loop.hpp>
#include <keel/prompt.hpp>
#include <keel/server_target.hpp>
#include <keel/subscription.hpp>
#include <keel/task.hpp>
#include <keel/types.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI {

/// The protocol revisions that a client uses.
enum class protocol_mode : unsigned char {
    automatic,  // probes the server: 2026-07-28 if it supports that, else the newest common revision
    legacy,     // revisions up to 2025-11-25, without a probe
    modern,     // 2026-07-28 only
};

/// Remembers for each server whether it supports revision 2026-07-28. Several clients can share one. Thread-safe.
class KEEL_API era_memory {
public:
    era_memory();
    ~era_memory();
    era_memory(const era_memory&) = delete;
    era_memory& operator=(const era_memory&) = delete;

    /// `server` is server_target::identity(). Returns nullopt for an unknown server.
    std::optional<bool> is_modern(std::string_view server) const;
    /// Called by clients; also restores what an earlier run of the program found.
    void remember(std::string_view server, bool modern);
    void forget(std::string_view server);

private:
    struct table;
    std::unique_ptr<table> table_;
};

/// Automatic reconnection after the connection is lost.
struct KEEL_API restart_policy {
    /// Maximum number of consecutive attempts without an answer from the server. 0: only connect() reconnects.
    unsigned attempts = 0;
    /// The delay before the second attempt. Doubled before each further attempt, up to 30 s.
    duration first_wait = std::chrono::milliseconds(200);
};

struct KEEL_API cache_settings {
    bool enabled = true;
    std::size_t max_entries = 256;
    std::size_t max_bytes = 16 * 1024 * 1024;
};

/// A log message from the server.
struct KEEL_API server_log {
    log_level level = log_level::info;
    std::string logger = {};
    json::value data = {};
};

/// How a connection ended.
struct KEEL_API disconnection {
    std::string cause = {};     // "" if the client closed it
    bool will_restart = false;  // the next call reconnects
};

struct KEEL_API client_options {
    /// The name and version of this program, sent to the server.
    implementation about = {};
    keel::limits limits = {};
    protocol_mode mode = protocol_mode::automatic;
    /// The only protocol revision to use: "2025-06-18". "": the newest that both sides support. A revision that does not fit
    /// `mode` throws std::invalid_argument.
    std::string version = {};
    /// If a child process or socket does not answer the version probe within this time, the client assumes a pre-2026 server.
    duration probe_timeout = std::chrono::seconds(5);
    /// Timeout of the whole connection setup, including the handshake.
    duration connect_timeout = std::chrono::seconds(30);
    restart_policy restart = {};
    /// Revisions before 2026-07-28: a server that was silent for this long is pinged. If it does not answer within the same time,
    /// the connection is lost. Zero: no pings.
    duration keep_alive = std::chrono::seconds(0);
    std::shared_ptr<era_memory> eras = {};  // null: one shared by the process for URLs, else one of the client's own
    cache_settings cache = {};
    unsigned max_pages = 1000;  // maximum number of pages of a list
    unsigned max_rounds = 10;   // maximum number of rounds of a multi-round request
    /// Whether structured results are validated against the output schemas of their tools.
    bool check_results = true;
    /// The lowest level of log messages to request. nullopt: the server's default, or none in revision 2026-07-28.
    std::optional<log_level> level = {};
    /// Protocol extensions that this client supports: identifier ("com.example/thing") and settings, an object.
    std::map<std::string, json::value> extensions = {};

    // ---- handlers of requests from the server; a capability is declared only if its handler is set ----
    sampling_handler on_sampling = {};
    bool sampling_with_tools = false;  // on_sampling supports `tools` and `tool_choice`
    form_handler on_form = {};
    url_handler on_url = {};
    /// Directories and files that the server may access; see client::set_roots.
    std::optional<std::vector<root>> roots = {};
    /// Size of the thread pool for handlers that are plain functions.
    unsigned worker_threads = 2;

    // ---- callbacks for notifications; called on the client's loop, must not block. Exceptions are logged and ignored. ----
    std::function<void(const server_log&)> on_log = {};
    std::function<void(list_kind)> on_list_changed = {};
    std::function<void(std::string_view uri)> on_resource_updated = {};
    std::function<void(std::string_view id)> on_elicitation_complete = {};
    /// Called for all other notifications.
    std::function<void(std::string_view method, const json::value& params)> on_notification = {};
    /// HTTP before 2026-07-28: the server no longer knew the session, and the client started a new one.
    std::function<void()> on_session_renewed = {};
    std::function<void(const disconnection&)> on_disconnected = {};
    /// Called with the standard error output of a child process.
    std::function<void(std::string_view)> on_stderr = {};
    /// The log of the library: invalid input, ignored tools, failed callbacks. As server_options::log.
    log_sink log = {};
};

/// What the server reported when the client connected.
struct KEEL_API server_facts {
    std::string protocol_version = {};
    bool modern = false;
    implementation about = {};
    json::value capabilities = {};
    std::string instructions = {};
};

/// One page of a list.
template <class T>
struct page {
    std::vector<T> items;
    std::optional<std::string> next;  // cursor of the next page; nullopt: last page; "" is a valid cursor

    page() = default;
};

namespace detail {
class client_engine;  // src/client/engine.hpp
}

/// Every call ends exactly once: it returns its result or throws keel::error; see error_kind for what the caller can do.
///
/// Thread-safe. The client runs on its own loop; a task returned by it may be awaited on any loop and resumes there.
/// Cancellation of a task: the call is cancelled, the server is notified, and the await throws keel::cancelled.
class KEEL_API client {
public:
    /// The client runs on a thread of its own. Throws std::invalid_argument if the options are invalid.
    explicit client(server_target where, client_options options = {});
    /// `keel::client client({.command = "./calculator"});`
    explicit client(child_process what, client_options options = {});
    /// The client runs on a loop of the caller, which must be one of the library's (see keel/asio.hpp).
    client(std::shared_ptr<loop> on, server_target where, client_options options = {});
    /// Closes the connection. A client with a thread of its own blocks until it is closed, at most for the sum of its limits.
    ~client();
    client(client&&) noexcept;
    client& operator=(client&&) noexcept;

    // ---- the connection ----

    /// Starts or connects to the server and negotiates a protocol revision. Does nothing if connected; reconnects if the
    /// connection was lost.
    /// Cancellation: connecting is abandoned; a later connect or call starts again.
    task<void> connect(connect_options how = {});
    /// Closes the connection gracefully: pending calls fail, and a child process gets time to exit. Idempotent.
    task<void> close();
    bool connected() const;
    /// What the server reported on the current or the last connection.
    server_facts server() const;
    /// The server's address: "./calculator", "http://127.0.0.1:8848/mcp".
    std::string describe() const;

    // ---- tools ----

    task<std::vector<tool>> list_tools(call_options how = {});
    /// Returns one page. Without a cursor: the first page.
    task<page<tool>> list_tools_page(std::optional<std::string> cursor = {}, call_options how = {});
    /// Calls a tool. `arguments` is an object, or null. A tool-level error is a result with `is_error`, not an exception.
    task<tool_result> call_tool(std::string name, const json::value& arguments = {}, call_options how = {});
    /// Same, with a described struct. (The int parameter avoids ambiguity with call_tool<T>.)
    template <int = 0, class Args>
        requires(!std::is_convertible_v<const Args&, json::value>)
    task<tool_result> call_tool(std::string name, Args&& arguments, call_options how = {}) {
        static_assert(detail::may_be_awaited<Args>,
                      "keel: g++ 12 destroys a temporary struct twice in a co_await: give the arguments a name first");
        return call_tool(std::move(name), detail::arguments_of(arguments), std::move(how));
    }
    /// Same, with a typed result T: a described struct, any type that a member may have, or void. `arguments` is a described struct
    /// or a json::value. Throws keel::tool_failed if the result has `is_error`.
    template <class T, class Args = json::value>
    task<T> call_tool(std::string name, Args&& arguments = {}, call_options how = {}) {
        static_assert(detail::may_be_awaited<Args>,
                      "keel: g++ 12 destroys a temporary struct twice in a co_await: give the arguments a name first");
        return detail::typed_result<T>(call_tool(std::move(name), detail::arguments_of(arguments), std::move(how)));
    }

    // ---- resources ----

    task<std::vector<resource>> list_resources(call_options how = {});
    task<page<resource>> list_resources_page(std::optional<std::string> cursor = {}, call_options how = {});
    task<std::vector<resource_template>> list_resource_templates(call_options how = {});
    task<page<resource_template>> list_resource_templates_page(std::optional<std::string> cursor = {},
                                                               call_options how = {});
    task<std::vector<resource_contents>> read_resource(std::string uri, call_options how = {});

    // ---- prompts and completion ----

    task<std::vector<prompt>> list_prompts(call_options how = {});
    task<page<prompt>> list_prompts_page(std::optional<std::string> cursor = {}, call_options how = {});
    task<prompt_result> get_prompt(std::string name, std::map<std::string, std::string> arguments = {},
                                   call_options how = {});
    /// Returns completions for an argument. `value` is the text typed so far; `others` are the arguments already chosen.
    task<completion> complete_prompt(std::string name, std::string argument, std::string value,
                                     std::map<std::string, std::string> others = {}, call_options how = {});
    task<completion> complete_resource(std::string uri_template, std::string argument, std::string value,
                                       std::map<std::string, std::string> others = {}, call_options how = {});

    // ---- changes ----

    /// Subscribes to changes, in the way that the protocol revision provides. See keel/subscription.hpp. `how` applies to the
    /// request: its timeouts do not limit how long the subscription lasts.
    task<subscription> subscribe(subscription_request what, call_options how = {});

    // ---- other requests ----

    /// Checks that the server answers. (Revision 2026-07-28 has no ping: server/discover is sent instead.)
    task<void> ping(call_options how = {});
    /// Requests log messages of this level and above. (In 2026-07-28 each later request carries the level; nothing is sent now.)
    task<void> set_log_level(log_level from, call_options how = {});
    /// Sets the roots that the server may list, and notifies the server if the protocol revision supports it.
    void set_roots(std::vector<root> roots);
    /// Sends any request, for example a custom method. Requests from the server are answered as usual.
    task<json::value> request(std::string method, json::value params = {}, call_options how = {});
    /// Sends one round of a multi-round request (2026-07-28). Returns the server's questions instead of passing them to handlers;
    /// call it again with the same method and params, and the answers.
    task<request_round> request_once(std::string method, json::value params, round_answers answers = {},
                                     call_options how = {});
    /// Sends a notification. It is dropped silently if there is no connection.
    void notify(std::string method, json::value params = {});

private:
    friend struct client_access;
    std::shared_ptr<detail::client_engine> engine_;
};

}  // namespace keel
