#pragma once

// An MCP server: its tools, resources and prompts, and the ways to serve it.
//
//     struct greet_args { std::string name; };
//     KEEL_DESCRIBE(greet_args, name)
//
//     keel::server server({.name = "greeter", .version = "1.0"});
//     server.add_tool("greet", "Say hello", [](greet_args a) { return "Hello, " + a.name + "!"; });
//     server.start(keel::endpoint::unix_socket("/run/greeter.sock"));  // in the background
//
// A program that is only a server uses keel::main of <keel/main.hpp>.

#include <keel/connection.hpp>
#include <keel/limits.hpp>
#include <keel/log.hpp>
#include <keel/loop.hpp>
#include <keel/middleware.hpp>
#include <keel/prompt_handler.hpp>
#include <keel/resource.hpp>
#include <keel/server_health.hpp>
#include <keel/tool.hpp>
#include <keel/types.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI {

/// Multi-round requests (revision 2026-07-28): the encrypted state that the client sends back. See docs/asking.md.
struct KEEL_API asking_options {
    /// Encryption keys of the state, each 32 bytes as 64 hexadecimal digits or Base64. The first encrypts; all of them decrypt.
    /// Empty: a random key, which other processes and a restarted server do not have.
    std::vector<std::string> keys = {};
    /// The service that the state is valid for; the server's name by default. Replicas of one service must use the same.
    std::string audience = {};
    std::chrono::seconds expires_after = std::chrono::minutes(10);
    unsigned max_rounds = 10;
    /// How long a handler that has asked may continue with other work before it is ended. (It is ended immediately when it only
    /// waits for answers.)
    duration patience = std::chrono::seconds(10);
    std::size_t max_state = 64 * 1024;  // bytes
    /// Accepts each state only once: prevents replay, but a client that lost an answer cannot retry its call.
    bool single_use = false;
    /// The clock for expiry; the system clock by default.
    std::function<std::chrono::system_clock::time_point()> clock = {};
};

struct KEEL_API server_options {
    keel::limits limits = {};
    /// Instructions for the model: how to use this server.
    std::string instructions = {};
    /// Size of the thread pool for plain handlers. 0: depends on the number of processors. Threads start when first needed.
    unsigned worker_threads = 0;
    /// Runs plain handlers there instead of on a worker thread, for example on the main thread of the program; see docs/embedding.md.
    /// Handlers with `quick` and coroutines still run on the loop. tool_options::run_on is the same for one tool.
    handler_executor run_on = {};
    /// A handler that runs on the event loop for longer than this without a wait is logged as a warning, with the name of its tool:
    /// meanwhile all other requests of the loop wait. Resolution: about 4 ms. Zero: no warnings.
    duration blocking_warning = std::chrono::milliseconds(100);
    /// Maximum number of open connections; further ones are refused.
    std::size_t max_connections = 1024;
    /// Revisions before 2026-07-28: a client that was silent for this long is pinged. If it does not answer within the same time,
    /// its connection is closed. Zero: no pings.
    duration keep_alive = std::chrono::seconds(0);
    /// Maximum number of entries in one page of a list.
    std::size_t page_size = 1000;
    /// How long clients may cache results, by method: "tools/list", "resources/read", "server/discover", …
    std::map<std::string, cache_hint> cache = {};
    /// Declares the capability from the start, even if nothing of the kind has been added yet.
    bool declare_resources = false;
    bool declare_prompts = false;
    bool declare_completions = false;
    /// Protocol extensions that this server supports: identifier ("com.example/thing") and settings, an object.
    std::map<std::string, json::value> extensions = {};
    asking_options asking = {};
    /// The log of the library: invalid input, failed handlers. A function void(log_level, std::string_view), one that takes a
    /// log_record, or keel::log_to. Called on any thread; must not throw. Without it the library logs nothing.
    log_sink log = {};
};

struct http_options;  // keel/http_server.hpp

namespace detail {
class transport_opener;  // src/server/served_set.hpp
}

/// Where to serve: standard input and output of this process, a Unix socket, TCP, or HTTP.
struct KEEL_API endpoint {
    enum class kind : unsigned char { stdio, unix_socket, tcp, http };
    kind where = kind::stdio;
    std::string address = {};  // a path, or HOST:PORT
    /// stdio: also end when the client process ends (stdio_options::watch_client). keel::main and run_stdio set it.
    bool watch_client = false;
    std::shared_ptr<const detail::transport_opener> opener = {};  // set by http()

    static endpoint stdio() { return {}; }
    static endpoint unix_socket(std::string path) { return {kind::unix_socket, std::move(path)}; }
    static endpoint tcp(std::string host_and_port) { return {kind::tcp, std::move(host_and_port)}; }
    /// Streamable HTTP; see http_server::start for the address. In the library keel::http; include keel/http_server.hpp for the
    /// options.
    static endpoint http(std::string host_and_port);
    static endpoint http(std::string host_and_port, http_options options);
};

/// How one connection ended.
struct KEEL_API connection_end {
    std::string cause = {};     // "" if it was closed normally
    std::size_t abandoned = 0;  // handlers that did not return in time after cancellation
};

/// Thread-safe, also while serving.
class KEEL_API server {
public:
    /// Throws std::invalid_argument if the options are invalid.
    explicit server(implementation about, server_options options = {});
    /// Stops, like stop().
    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    // ---- tools, resources, prompts; they may be added and removed while serving, and subscribed clients are notified ----

    /// Adds a tool. `f` takes (context&, Args), (Args), (context&) or no parameters, where Args is a described struct. It returns void,
    /// std::string, content, tool_result, json::value, a described struct or any type that a member may have, or a task of one of
    /// these; see docs/tools.md. Member functions need keel::bind_member. A plain function runs on a worker thread, or on the loop
    /// with {.quick = true}. Throws std::invalid_argument if the name is invalid or exists already.
    template <class F>
    void add_tool(std::string name, std::string description, F f, tool_options options = {}) {
        add(detail::make_tool(std::move(name), std::move(description), std::move(f), std::move(options)));
    }
    /// Adds a tool that is defined at run time, with its arguments as JSON.
    void add_tool(tool_description about, std::function<tool_result(context&, const json::value& arguments)> f);
    void add_tool(tool_description about, std::function<task<tool_result>(context, json::value arguments)> f);
    /// Removes a tool; running calls continue. Returns false if there is no such tool.
    bool remove_tool(std::string_view name);

    /// Adds a resource. `f` takes (context&) or no parameters, and returns std::string, keel::bytes, resource_contents, a vector of
    /// these, read_result, or a task of one of these. It runs like a tool.
    template <class F>
    void add_resource(resource about, F f, resource_options options = {}) {
        bool quick = options.quick;
        add(detail::resource_entry{std::move(about), detail::make_resource_handler(std::move(f), quick),
                                   std::move(options)});
    }
    bool remove_resource(std::string_view uri);

    /// Adds a resource template. `f` may also take resource_request or a described struct of the template's variables.
    template <class F>
    void add_resource_template(resource_template about, F f, template_options options = {}) {
        bool quick = options.quick;
        add(detail::template_entry{std::move(about), detail::make_resource_handler(std::move(f), quick),
                                   std::move(options)});
    }
    bool remove_resource_template(std::string_view uri_template);

    /// Adds a prompt. `f` takes a described struct of strings (the arguments of the prompt), keel::prompt_arguments or no
    /// arguments, and returns std::string, prompt_message, a vector of these, prompt_result, or a task of one of these.
    template <class F>
    void add_prompt(std::string name, std::string description, F f, prompt_options options = {}) {
        prompt about;
        about.name = std::move(name);
        about.title = options.title;
        about.description = std::move(description);
        about.icons = options.icons;
        about.meta = options.meta;
        add(detail::make_prompt(std::move(about), std::move(f), std::move(options)));
    }
    /// Same, with arguments that are defined at run time.
    template <class F>
    void add_prompt(prompt about, F f, prompt_options options = {}) {
        add(detail::make_prompt(std::move(about), std::move(f), std::move(options)));
    }
    bool remove_prompt(std::string_view name);

    /// Notifies subscribed clients that a resource has changed. Never blocks; several changes within
    /// limits::notification_interval are reported as one.
    void resource_updated(std::string_view uri);
    /// Notifies clients that the list of resources of a template (template_options::list) has changed.
    void resources_changed();

    /// Adds a handler for a custom method. `f` returns the result, an object. A plain function runs on a worker thread.
    void add_method(std::string name, std::function<json::value(context&, const json::value& params)> f);
    void add_method(std::string name, std::function<task<json::value>(context, json::value params)> f);
    /// Adds a handler for a custom notification. It runs on the loop and must not block.
    void add_notification(std::string name,
                          std::function<void(std::string_view principal, const json::value& params)> f);

    /// Adds middleware; the first one added is the outermost. See keel/middleware.hpp. Call it before serving.
    void use(middleware m);

    /// Adds a hook that runs before the first connection is served. It may return a std::unique_ptr<T> or std::shared_ptr<T>:
    /// context::state<T>() gives handlers access to it until the server has stopped; states are destroyed in reverse order. If
    /// the hook throws, start() throws. Call it before serving.
    template <class F>
    void on_start(F f) {
        using made = std::invoke_result_t<F&>;
        if constexpr (std::is_void_v<made>) {
            add_start_hook([f = std::move(f)]() mutable -> detail::started_state {
                f();
                return {};
            });
        } else {
            using state = typename made::element_type;  // a std::shared_ptr or std::unique_ptr
            add_start_hook([f = std::move(f)]() mutable -> detail::started_state {
                return {&detail::type_mark<state>::value, std::shared_ptr<state>(f())};
            });
        }
    }
    /// Adds a hook that runs when the server has stopped: after the last handler, before the states are destroyed.
    void on_stop(std::function<void()> f);

    // ---- serving ----

    /// Starts serving in the background, on a thread of the server. May be called several times, for several endpoints. Throws
    /// std::invalid_argument if the address is malformed or the options of the endpoint are invalid, std::system_error if the address
    /// cannot be used, std::runtime_error if the server is stopping.
    void start(endpoint where);
    /// The address that start() opened last, with the actual port: "unix /run/x.sock", "tcp 127.0.0.1:41234",
    /// "http://127.0.0.1:8848/mcp".
    std::string address() const;

    /// Serves one connection on a loop of the caller (see keel/asio.hpp for an io_context). `ended` is called on that loop when the
    /// connection has ended. `principal` is the authenticated identity of the client, if known.
    void serve(std::shared_ptr<loop> on, std::unique_ptr<connection> wire,
               std::function<void(const connection_end&)> ended = {}, std::string principal = {});

    /// Starts a graceful shutdown and returns immediately: no new connections; running calls get `drain` to finish, are then
    /// cancelled, and have limits::cleanup_grace to return.
    void request_stop(duration drain = {});
    /// Same, and calls `stopped` once when the server has stopped: after the last handler and the stop hooks. It is called on the loop
    /// where the last connection ended, or before this function returns if nothing is served. It may destroy the server. If the
    /// server is started again before it has stopped, `stopped` is called the next time that it stops.
    void request_stop(duration drain, std::function<void()> stopped);
    /// Same, but blocks until the server has stopped. Throws std::logic_error, without stopping, if called from a handler of this
    /// server (it would wait for itself).
    void stop(duration drain = {});
    /// Blocks until all connections of all endpoints have ended or the server was stopped. Must not be called from a handler.
    connection_end wait();

    server_health health() const;
    const implementation& about() const noexcept;

private:
    void add(detail::tool_entry entry);
    void add(detail::resource_entry entry);
    void add(detail::template_entry entry);
    void add(detail::prompt_entry entry);
    void add_start_hook(std::function<detail::started_state()> f);

    struct impl;
    friend struct server_access;  // for src/program and src/http
    std::shared_ptr<impl> impl_;
};

}  // namespace keel
