#pragma once

// A server: tools, and the ways to serve them.
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
#include <keel/tool.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace keel {

/// Who serves. Name and version are told to every client.
struct implementation {
    std::string name = {};
    std::string version = {};
    std::string title = {};
    std::string description = {};
    std::string website_url = {};
};

struct server_options {
    keel::limits limits = {};
    /// For the model: how to use this server.
    std::string instructions = {};
    /// Threads for plain functions that may block; 0 chooses by the machine. They start when first needed.
    unsigned worker_threads = 0;
    /// The most connections served at a time; more are refused.
    std::size_t max_connections = 1024;
    /// What the library has to say: bad input, failed handlers. Called on any thread; must not throw. The library itself
    /// prints nothing.
    std::function<void(log_level, std::string_view)> log = {};
};

/// Where to serve. `stdio()` is this process's standard input and output.
struct endpoint {
    enum class kind : unsigned char { stdio, unix_socket, tcp };
    kind where = kind::stdio;
    std::string address = {};  // a path, or HOST:PORT

    static endpoint stdio() { return {}; }
    static endpoint unix_socket(std::string path) { return {kind::unix_socket, std::move(path)}; }
    static endpoint tcp(std::string host_and_port) { return {kind::tcp, std::move(host_and_port)}; }
};

/// How one connection ended.
struct connection_end {
    std::string cause = {};     // "" for an orderly end
    std::size_t abandoned = 0;  // handlers that did not stop within their grace
};

/// What a server is doing: for the embedding program's own monitoring.
struct server_health {
    std::size_t connections = 0;
    std::size_t in_flight = 0;
    std::uint64_t requests = 0;
    std::uint64_t dropped_late = 0;  // said after the request had ended
    std::uint64_t rejected_input = 0;
    std::uint64_t abandoned = 0;
};

/// Threads: everything may be called from any thread, also while serving.
class server {
public:
    explicit server(implementation about, server_options options = {});
    /// Stops, as stop() does.
    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    /// A typed tool: `f` takes (context&, Args), (Args), (context&) or nothing, where Args is a described struct, and returns text,
    /// content, a tool_result, a number, a described struct, or a task of one of these. A plain function runs on a worker thread,
    /// or on the loop with {.quick = true}. A tool of the same name is replaced.
    template <class F>
    void add_tool(std::string name, std::string description, F f, tool_options options = {}) {
        add(detail::make_tool(std::move(name), std::move(description), std::move(f), std::move(options)));
    }

    /// The open form, for tools known only at run time: JSON in, result out.
    void add_tool(tool_description about, std::function<tool_result(context&, const json::value& arguments)> f);
    void add_tool(tool_description about, std::function<task<tool_result>(context, json::value arguments)> f);
    /// Calls that are running go on. False when there is no such tool.
    bool remove_tool(std::string_view name);

    // ---- serving ----

    /// Serves in the background, on a thread of the server's own. Throws std::system_error or std::runtime_error when the address
    /// cannot be used. May be called several times for several endpoints.
    void start(endpoint where);
    /// Where the last start of a socket listens: "unix /run/x.sock", "tcp 127.0.0.1:41234", with the port the system chose.
    std::string address() const;

    /// Serves one connection on a loop of the caller's (see keel/asio.hpp for one over an io_context). `ended` is called
    /// on that loop when it is over.
    void serve(std::shared_ptr<loop> on, std::unique_ptr<connection> wire,
               std::function<void(const connection_end&)> ended = {});

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

    struct impl;
    friend struct serving;  // keel::main and the signal handling beside it
    std::shared_ptr<impl> impl_;
};

/// The whole main function of a server program: reads the command line (--stdio, --unix PATH, --tcp HOST:PORT, --drain DURATION,
/// --log-level LEVEL, --help), serves, handles SIGTERM and SIGINT. Returns the exit status: 0 after an orderly end,
/// 1 when serving failed, 2 for a wrong command line.
int main(server& s, int argc, const char* const* argv);

/// Serves standard input and output until the client is done.
int run_stdio(server& s);

}  // namespace keel
