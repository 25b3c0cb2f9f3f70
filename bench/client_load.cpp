// Calls the echo tool of a server repeatedly with Keel's client and reports the cost for the client as one JSON object
// on standard output. Run by bench/client_run.py.

#include "async/epoll_loop.hpp"

#include <keel/async.hpp>
#include <keel/client.hpp>

#include <sys/resource.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

struct settings {
    std::string command;  // a stdio server: this program with the arguments that follow
    std::vector<std::string> arguments;
    std::string url;
    std::string version;
    int calls = 100'000;
    int warm_up = 1'000;
    int in_flight = 64;
};

[[noreturn]] void refuse(const char* why) {
    std::fprintf(stderr, "client_load: %s\n", why);
    std::exit(2);
}

int number(std::string_view text) {
    int n = 0;
    auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (problem != std::errc() || end != text.data() + text.size() || n <= 0) refuse("not a positive number");
    return n;
}

settings read(int argc, char** argv) {
    settings s;
    for (int i = 1; i < argc; ++i) {
        std::string_view word = argv[i];
        if (word == "--") {
            if (i + 1 == argc) refuse("no command after --");
            s.command = argv[i + 1];
            s.arguments.assign(argv + i + 2, argv + argc);
            break;
        }
        if (++i == argc) refuse("an option without its value");
        if (word == "--url") s.url = argv[i];
        else if (word == "--version") s.version = argv[i];
        else if (word == "--calls") s.calls = number(argv[i]);
        else if (word == "--warm-up") s.warm_up = number(argv[i]);
        else if (word == "--in-flight") s.in_flight = number(argv[i]);
        else refuse("unknown option");
    }
    if (s.url.empty() == s.command.empty()) refuse("one of --url URL and -- COMMAND is needed");
    return s;
}

double seconds_of(int who) {
    rusage u{};
    getrusage(who, &u);
    auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return seconds(u.ru_utime) + seconds(u.ru_stime);
}

struct figures {
    double cpu = 0;
    double wall = 0;
};

keel::task<void> call_in_turn(keel::client& client, int calls) {
    keel::json::value arguments = keel::json::object({{"text", "hello"}});
    for (int i = 0; i < calls; ++i) {
        keel::tool_result r = co_await client.call_tool("echo", arguments);
        if (r.is_error || r.content.size() != 1 || r.content[0].text() != "hello") refuse("unexpected result");
    }
}

keel::task<void> side_by_side(keel::client& client, int calls, int in_flight) {
    auto all = [&](keel::scope& together) -> keel::task<void> {
        for (int i = 0; i < in_flight; ++i) {
            together.spawn(call_in_turn(client, calls / in_flight + (i < calls % in_flight ? 1 : 0)));
        }
        co_return;
    };
    co_await keel::with_scope(all);
}

keel::task<void> measure(keel::client& client, const settings& s, figures& f) {
    co_await client.connect();
    co_await side_by_side(client, s.warm_up, s.in_flight);
    double cpu = seconds_of(RUSAGE_SELF);
    auto begun = std::chrono::steady_clock::now();
    co_await side_by_side(client, s.calls, s.in_flight);
    f.cpu = seconds_of(RUSAGE_SELF) - cpu;
    f.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    co_await client.close();
}

}  // namespace

int main(int argc, char** argv) {
    settings s = read(argc, argv);
    auto loop = keel::async::epoll_loop::create();
    figures f;
    int status = 0;
    {
        keel::client_options options;
        options.version = s.version;
        keel::child_process child;
        child.command = s.command;
        child.arguments = s.arguments;
        keel::url address;
        address.address = s.url;
        keel::client client(loop, s.url.empty() ? keel::server_target(child) : keel::server_target(address), options);
        keel::detail::activity line(*loop);
        loop->post([&] {
            keel::detail::start(line, measure(client, s, f), [&](keel::detail::outcome<void> o) {
                if (o.index() == 0) {
                    status = 1;
                    try {
                        std::rethrow_exception(std::get<0>(o));
                    } catch (const std::exception& e) {
                        std::fprintf(stderr, "client_load: %s\n", e.what());
                    }
                }
                loop->stop();
            });
        });
        loop->run();
    }
    std::printf(R"({"cpu_us_per_call":%.4f,"calls_per_second":%.1f,"children_us_per_call":%.4f})"
                "\n",
                f.cpu / s.calls * 1e6, s.calls / f.wall, seconds_of(RUSAGE_CHILDREN) / (s.calls + s.warm_up) * 1e6);
    return status;
}
