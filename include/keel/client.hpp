#pragma once

// A client: one object for every server there is.
//
//     keel::client client({.command = "./calculator"});
//     co_await client.connect();
//     json::value numbers = json::object({{"a", 1}, {"b", 2}});
//     keel::tool_result sum = co_await client.call_tool("add", numbers);
//
// keel/run.hpp runs such a coroutine. A program without coroutines uses keel/blocking_client.hpp.
//
// What is handed to a co_await has constructors or is named before: g++ 12 destroys temporaries of aggregates twice there.

#include <keel/answering.hpp>
#include <keel/call.hpp>
#include <keel/limits.hpp>
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

enum class list_kind : unsigned char { tools, prompts, resources };

/// Which revisions of the protocol to speak.
enum class protocol_mode : unsigned char {
    automatic,  // asks the server: 2026-07-28 where it is known, else the newest of the older ones
    legacy,     // revisions up to 2025-11-25, without asking first
    modern,     // 2026-07-28 or nothing
};

/// What several clients may share: which era each server turned out to speak. Any thread.
class KEEL_API era_memory {
public:
    era_memory();
    ~era_memory();
    era_memory(const era_memory&) = delete;
    era_memory& operator=(const era_memory&) = delete;

    /// By what `server_target::identity` says. Also to take over what was found in an earlier run.
    std::optional<bool> is_modern(std::string_view server) const;
    void remember(std::string_view server, bool modern);
    void forget(std::string_view server);

private:
    struct table;
    std::unique_ptr<table> table_;
};

/// What to do when the connection is lost.
struct KEEL_API restart_policy {
    /// So often in a row, without an answer in between. 0: never; connect() does it by hand.
    unsigned attempts = 0;
    /// Before the second attempt, doubled before each further one, up to 30 s.
    duration first_wait = std::chrono::milliseconds(200);
};

struct KEEL_API cache_settings {
    bool enabled = true;
    std::size_t max_entries = 256;
    std::size_t max_bytes = 16 * 1024 * 1024;
};

/// A message that the server logs.
struct KEEL_API server_log {
    log_level level = log_level::info;
    std::string logger = {};
    json::value data = {};
};

/// How a connection ended.
struct KEEL_API disconnection {
    std::string cause = {};     // "" when we closed it
    bool will_restart = false;  // the next call connects again
};

struct KEEL_API client_options {
    /// What the server is told of this program.
    implementation about = {};
    keel::limits limits = {};
    protocol_mode mode = protocol_mode::automatic;
    /// This revision and no other: "2025-06-18". With `automatic` its era is the mode; one that is not of the mode throws
    /// std::invalid_argument. "": the newest that both have.
    std::string version = {};
    /// A child that says nothing to the question which era it is of for this long is of the older one.
    duration probe_timeout = std::chrono::seconds(5);
    /// Everything until the server has introduced itself.
    duration connect_timeout = std::chrono::seconds(30);
    restart_policy restart = {};
    /// Older revisions: a server that has said nothing for this long is asked for a sign of life, and without one within the same
    /// time the connection counts as lost. Zero: never.
    duration keep_alive = std::chrono::seconds(0);
    std::shared_ptr<era_memory> eras = {};  // null: for a URL that of the process, else one of its own
    cache_settings cache = {};
    /// The most pages that a list may have, the most rounds of questions that a call may take.
    unsigned max_pages = 1000;
    unsigned max_rounds = 10;
    /// What a server gives is checked against what it has promised (the output schemas of tools).
    bool check_results = true;
    /// Messages from this level on are wanted. None: the server's own default (older revisions), or none at all.
    std::optional<log_level> level = {};
    std::map<std::string, json::value> extensions = {};

    // ---- what the server may ask for; what is not set here is not offered to it ----
    sampling_handler on_sampling = {};
    bool sampling_with_tools = false;  // on_sampling knows `tools` and `tool_choice`
    form_handler on_form = {};
    url_handler on_url = {};
    /// Directories and files that the server may work in; see client::set_roots.
    std::optional<std::vector<root>> roots = {};
    /// Threads for handlers that are plain functions.
    unsigned worker_threads = 2;

    // ---- what the server tells; called on the client's loop, must not block. What they throw is logged and forgotten. ----
    std::function<void(const server_log&)> on_log = {};
    std::function<void(list_kind)> on_list_changed = {};
    std::function<void(std::string_view uri)> on_resource_updated = {};
    std::function<void(std::string_view id)> on_elicitation_complete = {};
    /// Every other notification.
    std::function<void(std::string_view method, const json::value& params)> on_notification = {};
    /// The older revisions over HTTP: the server had forgotten our session, and a new one was begun.
    std::function<void()> on_session_renewed = {};
    std::function<void(const disconnection&)> on_disconnected = {};
    /// What a child writes to its standard error.
    std::function<void(std::string_view)> on_stderr = {};
    /// What the library has to say: bad input, dropped tools, failed callbacks. Any thread.
    std::function<void(log_level, std::string_view)> log = {};
};

/// What is known of the server since it was connected to.
struct KEEL_API server_facts {
    std::string protocol_version = {};
    bool modern = false;
    implementation about = {};
    json::value capabilities = {};
    std::string instructions = {};
};

/// Part of a list, and how to get the next one.
template <class T>
struct page {
    std::vector<T> items;
    std::optional<std::string> next;  // none: this was the last; "" is a cursor like any other

    page() = default;
};

namespace detail {
class client_engine;  // src/client/engine.hpp
}

/// Threads: everything may be called from any thread. Its work is done on its loop; a task returned here may be awaited on
/// any loop, and goes on there.
///
/// Every call ends exactly once: with its result or with keel::error, whose kind says what can be done.
/// Cancellation of a task: the call is given up, the server is told, the wait throws keel::cancelled.
class KEEL_API client {
public:
    /// On a thread of its own.
    explicit client(server_target where, client_options options = {});
    /// `keel::client client({.command = "./calculator"});`
    explicit client(child_process what, client_options options = {});
    /// On a loop of the caller's, which must be one of the library's own (see keel/asio.hpp).
    client(std::shared_ptr<loop> on, server_target where, client_options options = {});
    /// Closes. With a thread of its own it waits, at most for the sum of the bounds.
    ~client();
    client(client&&) noexcept;
    client& operator=(client&&) noexcept;

    // ---- the connection ----

    /// Starts or reaches the server and agrees on a revision. Does nothing when connected. Once lost, connects anew.
    /// Cancellation: given up; the next one who wants the connection opens it.
    task<void> connect(connect_options how = {});
    /// Ends the connection in order: calls that are waiting fail; a child gets its time to go. Idempotent.
    task<void> close();
    bool connected() const;
    /// Of the current or the last connection.
    server_facts server() const;
    /// Where it is: "./calculator", "http://127.0.0.1:8848/mcp".
    std::string describe() const;

    // ---- tools ----

    task<std::vector<tool>> list_tools(call_options how = {});
    /// Without a cursor: the first page.
    task<page<tool>> list_tools_page(std::optional<std::string> cursor = {}, call_options how = {});
    /// `arguments` is an object, or null. A tool that fails in its own business gives a result with is_error.
    task<tool_result> call_tool(std::string name, const json::value& arguments = {}, call_options how = {});
    /// The same with a described struct. (The number keeps this one out of the way of call_tool<T>.)
    template <int = 0, class Args>
        requires(!std::is_convertible_v<const Args&, json::value>)
    task<tool_result> call_tool(std::string name, const Args& arguments, call_options how = {}) {
        return call_tool(std::move(name), detail::arguments_of(arguments), std::move(how));
    }
    /// Typed: `arguments` a described struct or a json::value, the result a described struct, number, bool or text.
    /// Throws keel::tool_failed for a result with is_error.
    template <class T, class Args = json::value>
    task<T> call_tool(std::string name, const Args& arguments = {}, call_options how = {}) {
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
    /// Proposals for the value of an argument, `value` being what has been typed so far. `others` are the arguments that are
    /// known already.
    task<completion> complete_prompt(std::string name, std::string argument, std::string value,
                                     std::map<std::string, std::string> others = {}, call_options how = {});
    task<completion> complete_resource(std::string uri_template, std::string argument, std::string value,
                                       std::map<std::string, std::string> others = {}, call_options how = {});

    // ---- changes ----

    /// Hears of changes until the subscription is dropped, in whatever way the revision has. See keel/subscription.hpp.
    /// The options are those of what asks for it: `idle` and `total` bound the agreement, not what comes after.
    task<subscription> subscribe(subscription_request what, call_options how = {});

    // ---- the rest ----

    /// A sign of life. (In 2026-07-28, which has no ping, the server is asked to introduce itself again.)
    task<void> ping(call_options how = {});
    /// Messages from this level on are wanted from now on. (In 2026-07-28 each request says so; nothing is sent for it.)
    task<void> set_log_level(log_level from, call_options how = {});
    /// Tells the server, where the revision has a way to.
    void set_roots(std::vector<root> roots);
    /// A method of one's own, or one that is not here. Questions of the server are answered as usual.
    task<json::value> request(std::string method, json::value params = {}, call_options how = {});
    /// One round of a request that may ask for something (2026-07-28): what is asked is returned instead of being answered.
    /// Call again with the same method and params, and the answers.
    task<request_round> request_once(std::string method, json::value params, round_answers answers = {},
                                     call_options how = {});
    /// Dropped without complaint when it cannot be sent.
    void notify(std::string method, json::value params = {});

private:
    friend struct client_access;
    std::shared_ptr<detail::client_engine> engine_;
};

}  // namespace keel
