#pragma once

// A server: what it offers, and the ways to serve it.
//
//     struct greet_args { std::string name; };
//     KEEL_DESCRIBE(greet_args, name)
//
//     int main(int argc, char** argv) {
//         keel::server server({.name = "greeter", .version = "1.0"});
//         server.add_tool("greet", "Say hello", [](greet_args a) { return "Hello, " + a.name + "!"; });
//         return keel::main(server, argc, argv);
//     }

#include <keel/connection.hpp>
#include <keel/limits.hpp>
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

/// How the answers of multi-round requests (revision 2026-07-28) travel: see docs/asking.md.
struct KEEL_API asking_options {
    /// Keys that seal the state, each 32 bytes as 64 hexadecimal digits or Base64: the first seals, all of them open. Without
    /// any, a random one is made, which no other process and no restart knows.
    std::vector<std::string> keys = {};
    /// Which service the state is for; the server's name by default. Replicas of one service share it.
    std::string audience = {};
    std::chrono::seconds expires_after = std::chrono::minutes(10);
    unsigned max_rounds = 10;
    /// A handler that has asked and still does something beside it is ended after this long all the same. (It is ended at once
    /// when all it can do is wait for the answers.)
    duration patience = std::chrono::seconds(10);
    std::size_t max_state = 64 * 1024;
    /// A state is taken only once. It then cannot be replayed, and a client that lost our answer cannot repeat its call.
    bool single_use = false;
    /// What tells the time for expiry; the system's clock by default.
    std::function<std::chrono::system_clock::time_point()> clock = {};
};

struct KEEL_API server_options {
    keel::limits limits = {};
    /// For the model: how to use this server.
    std::string instructions = {};
    /// Threads for plain functions that may block; 0 chooses by the machine. They start when first needed.
    unsigned worker_threads = 0;
    /// The most connections served at a time; more are refused.
    std::size_t max_connections = 1024;
    /// Clients of the older revisions that have said nothing for this long are asked for a sign of life; without one within
    /// the same time their connection is closed. Zero: never.
    duration keep_alive = std::chrono::seconds(0);
    /// The most entries in one answer to a list request.
    std::size_t page_size = 1000;
    /// How long clients may keep results, by method: "tools/list", "resources/read", "server/discover", …
    std::map<std::string, cache_hint> cache = {};
    /// Offered from the start, although nothing of the kind has been added yet.
    bool declare_resources = false;
    bool declare_prompts = false;
    bool declare_completions = false;
    /// Extensions of the protocol that this server speaks: identifier ("com.example/thing") and settings, an object.
    std::map<std::string, json::value> extensions = {};
    asking_options asking = {};
    /// What the library has to say: bad input, failed handlers. Called on any thread; must not throw. The library itself
    /// prints nothing.
    std::function<void(log_level, std::string_view)> log = {};
};

/// Where to serve. `stdio()` is this process's standard input and output.
struct KEEL_API endpoint {
    enum class kind : unsigned char { stdio, unix_socket, tcp };
    kind where = kind::stdio;
    std::string address = {};  // a path, or HOST:PORT

    static endpoint stdio() { return {}; }
    static endpoint unix_socket(std::string path) { return {kind::unix_socket, std::move(path)}; }
    static endpoint tcp(std::string host_and_port) { return {kind::tcp, std::move(host_and_port)}; }
};

/// How one connection ended.
struct KEEL_API connection_end {
    std::string cause = {};     // "" for an orderly end
    std::size_t abandoned = 0;  // handlers that did not stop within their grace
};

/// Threads: everything may be called from any thread, also while serving.
class KEEL_API server {
public:
    explicit server(implementation about, server_options options = {});
    /// Stops, as stop() does.
    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    // ---- what is offered; all of it may change while serving, and whoever subscribed is told ----

    /// A typed tool: `f` takes (context&, Args), (Args), (context&) or nothing, where Args is a described struct, and returns text,
    /// content, a tool_result, a number, a described struct, or a task of one of these. A plain function runs on a worker thread,
    /// or on the loop with {.quick = true}.
    template <class F>
    void add_tool(std::string name, std::string description, F f, tool_options options = {}) {
        add(detail::make_tool(std::move(name), std::move(description), std::move(f), std::move(options)));
    }
    /// The open form, for tools known only at run time: JSON in, result out.
    void add_tool(tool_description about, std::function<tool_result(context&, const json::value& arguments)> f);
    void add_tool(tool_description about, std::function<task<tool_result>(context, json::value arguments)> f);
    /// Calls that are running go on. False when there is no such tool.
    bool remove_tool(std::string_view name);

    /// Something to read: `f` takes (context&) or nothing, and returns text, keel::bytes, resource_contents, several of these, a
    /// read_result, or a task of one of these. It runs as a tool does.
    template <class F>
    void add_resource(resource about, F f, resource_options options = {}) {
        bool quick = options.quick;
        add(detail::resource_entry{std::move(about), detail::make_resource_handler(std::move(f), quick),
                                   std::move(options)});
    }
    bool remove_resource(std::string_view uri);

    /// A family of resources. `f` also takes a resource_request, or a described struct of the template's variables.
    template <class F>
    void add_resource_template(resource_template about, F f, template_options options = {}) {
        bool quick = options.quick;
        add(detail::template_entry{std::move(about), detail::make_resource_handler(std::move(f), quick),
                                   std::move(options)});
    }
    bool remove_resource_template(std::string_view uri_template);

    /// A prompt: `f` takes a described struct of texts (which are its arguments), or keel::prompt_arguments, and returns text, a
    /// prompt_message, several of these, a prompt_result, or a task of one of these.
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
    /// The same with arguments known only at run time.
    template <class F>
    void add_prompt(prompt about, F f, prompt_options options = {}) {
        add(detail::make_prompt(std::move(about), std::move(f), std::move(options)));
    }
    bool remove_prompt(std::string_view name);

    /// This resource has changed: tells whoever subscribed to it. Never waits; changes in quick succession are told as one.
    void resource_updated(std::string_view uri);
    /// The resources behind a template (its `list`) are others now.
    void resources_changed();

    /// A method of one's own. `f` takes (context&, const json::value& params), and returns the result: an object.
    void add_method(std::string name, std::function<json::value(context&, const json::value& params)> f);
    void add_method(std::string name, std::function<task<json::value>(context, json::value params)> f);
    /// A notification of one's own. Called on the loop; must not block.
    void add_notification(std::string name,
                          std::function<void(std::string_view principal, const json::value& params)> f);

    /// Around every request, in the order in which they are added: see keel/middleware.hpp. Before serving.
    void use(middleware m);

    /// Called before the first connection is served. What it returns is what context::state<T>() gives to handlers; it is kept
    /// until the server has stopped, and let go in the reverse order. If it throws, serving fails. Before serving.
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
                return {&detail::type_mark<state>, std::shared_ptr<state>(f())};
            });
        }
    }
    /// Called when the server has stopped: no handler runs any more, and what on_start made is still there.
    void on_stop(std::function<void()> f);

    // ---- serving ----

    /// Serves in the background, on a thread of the server's own. Throws std::system_error or std::runtime_error when the address
    /// cannot be used. May be called several times for several endpoints.
    void start(endpoint where);
    /// Where the last start of a socket listens: "unix /run/x.sock", "tcp 127.0.0.1:41234", with the port the system chose.
    std::string address() const;

    /// Serves one connection on a loop of the caller's (see keel/asio.hpp for one over an io_context). `ended` is called
    /// on that loop when it is over. `principal` is who is on the other side, if the caller has established that.
    void serve(std::shared_ptr<loop> on, std::unique_ptr<connection> wire,
               std::function<void(const connection_end&)> ended = {}, std::string principal = {});

    /// Begins to stop and returns: no new connections, running calls get `drain`, then everything ends within its bounds.
    void request_stop(duration drain = {});
    /// Begins to stop, and waits for it. In a handler of this server that would wait for itself: it throws std::logic_error
    /// instead, and nothing is stopped.
    void stop(duration drain = {});
    /// Waits until every connection of every endpoint has ended, or the server was stopped. Not in a handler.
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
    friend struct server_access;  // keel::main, HTTP
    std::shared_ptr<impl> impl_;
};

/// The whole main function of a server program: reads the command line (--stdio, --unix PATH, --tcp HOST:PORT, --drain DURATION,
/// --log-level LEVEL, --help), serves, handles SIGTERM and SIGINT. Returns the exit status: 0 after an orderly end,
/// 1 when serving failed, 2 for a wrong command line.
KEEL_API int main(server& s, int argc, const char* const* argv);

/// Serves standard input and output until the client is done.
KEEL_API int run_stdio(server& s);

}  // namespace keel
