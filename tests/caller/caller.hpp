#pragma once

// A client program that the driver controls line by line; main.cpp documents the commands.

#include "async/epoll_loop.hpp"

#include <keel/client.hpp>
#include <keel/task.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace keel::caller {

/// Writes one line of JSON to standard output. Safe to call from any thread.
void say(const json::value& what);

/// {"child":{…}}, {"url":…}, {"unix":…} or {"tcp":…}.
server_target read_target(const json::value& from);
/// Durations are milliseconds. Callbacks of the client print lines {"event":…,"as":NAME,…}.
client_options read_options(const json::value& from, const std::string& name);
/// "answers" to requests of the server, and the events of its notifications.
void read_answers(const json::value& from, const std::string& name, client_options& into);
std::vector<root> read_roots(const json::value& from);
call_options read_call_options(const json::value& from, std::stop_token stop);

/// Starts a call by the name of the client's function. The task does not need the client after that.
task<json::value> make_call(client& c, const std::string& what, const json::value& args, call_options how);

/// Descriptors, children, threads, memory.
json::value census();

/// Runs the commands, all on the thread that runs the loop.
class caller {
public:
    explicit caller(std::shared_ptr<async::epoll_loop> loop) : loop_(std::move(loop)) {}
    caller(const caller&) = delete;
    caller& operator=(const caller&) = delete;
    ~caller();

    void obey(const json::value& command);
    /// Ends the input: all calls are cancelled, and the loop stops when the last one has ended.
    void end();
    /// Whether a call had two outcomes.
    bool broken() const noexcept { return broken_; }

private:
    struct running {
        std::stop_source stop;
        std::optional<detail::activity> line;
        bool ended = false;
    };

    void open(const json::value& command, std::int64_t n);
    void call(const json::value& command, std::int64_t n);
    void subscribe(const json::value& command, std::int64_t n);
    void next(const json::value& command, std::int64_t n);
    void cancel(const json::value& command, std::int64_t n);
    void drop(const json::value& command, std::int64_t n);
    void start(std::int64_t n, task<json::value> work, const std::shared_ptr<running>& record);
    void tell(std::int64_t n, running& record, const std::exception_ptr& failure, json::value result);
    client& named(const json::value& command);
    void stop_if_idle();

    std::shared_ptr<async::epoll_loop> loop_;
    std::map<std::string, std::unique_ptr<client>, std::less<>> clients_;
    std::map<std::string, std::shared_ptr<subscription>, std::less<>> subscriptions_;
    std::map<std::int64_t, std::shared_ptr<running>> running_;
    std::vector<std::thread> droppers_;  // destroying a client may take time
    bool broken_ = false;
    bool ending_ = false;
};

}  // namespace keel::caller
