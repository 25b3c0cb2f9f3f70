// The `echo` tool for messages of any size: over stdio, or with --http over HTTP with JSON responses (bench/large_messages.py).

#include <keel/http_server.hpp>
#include <keel/main.hpp>

#include <cstdio>
#include <exception>
#include <string_view>

#include <signal.h>

namespace {

struct echo_args {
    std::string text;
};
KEEL_DESCRIBE(echo_args, text)

constexpr std::size_t largest = 64 * 1024 * 1024;

int serve_http(keel::server& server) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);

    keel::http_options options;
    options.threads = 1;
    options.answers = keel::http_options::answer_form::json;
    options.limits.max_body = largest;
    keel::http_server web(server, options);
    web.start("127.0.0.1:0");
    std::fprintf(stderr, "serving %s\n", web.url().c_str());
    int number = 0;
    sigwait(&signals, &number);
    web.stop(std::chrono::seconds(1));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        keel::server server({.name = "large_echo", .version = "1.0.0"});
        server.add_tool("echo", "Gives the text back", [](echo_args in) { return std::move(in.text); },
                        {.quick = true});
        return argc > 1 && std::string_view(argv[1]) == "--http" ? serve_http(server) : keel::run_stdio(server);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "large_echo: %s\n", e.what());
        return 1;
    }
}
