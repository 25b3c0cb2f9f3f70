// self-test
// A server over HTTP inside a program that has pages of its own. SIGINT (Ctrl-C) and SIGTERM shut it down gracefully; a
// second signal ends the process at once. A program without pages of its own needs none of this: keel::main has --http.

#include <keel/blocking_client.hpp>
#include <keel/http_server.hpp>
#include <keel/server.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

#include <signal.h>
#include <unistd.h>

using namespace std::chrono_literals;

struct price_args {
    std::string symbol;
};
KEEL_DESCRIBE(price_args, (symbol, "Ticker symbol"))

// Calls the server once, then sends this process the signal that ends it.
static bool self_test_passes(const std::string& url) {
    keel::url address{.address = url, .headers = {{"x-api-key", "secret"}}};
    keel::blocking_client client(address);
    client.connect();
    std::string answer = client.call_tool<std::string>("price", price_args{.symbol = "KEEL"});
    client.close();
    kill(getpid(), SIGTERM);
    return answer == "KEEL: 42.00";
}

static int serve(bool self_test) {
    // Block the signals before the first thread starts: threads inherit the mask, so only sigwait receives them.
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);

    keel::server server({.name = "prices", .version = "1.0.0"});
    server.add_tool("price", "The last price of a security", [](price_args in) { return in.symbol + ": 42.00"; });

    keel::http_options options;
    options.threads = 2;
    options.allow_hosts = {"prices.example.com"};
    options.allow_origins = {"https://app.example.com"};
    options.identify = [](const keel::http_request& r) -> std::optional<std::string> {
        auto key = r.header("x-api-key");
        if (!key) return "guest";
        if (*key == "secret") return "trader";
        return std::nullopt;  // 401
    };
    options.route = [](const keel::http_request& r) -> std::optional<keel::http_answer> {
        if (r.path() != "/version") return std::nullopt;
        return keel::http_answer{.body = "1.0.0\n"};
    };

    std::string address = "127.0.0.1:8848";
    if (self_test) address = "127.0.0.1:0";  // the system chooses a free port
    keel::http_server web(server, options);
    web.start(address);
    std::printf("serving %s\n", web.url().c_str());
    bool passed = !self_test || self_test_passes(web.url());

    int number = 0;
    sigwait(&signals, &number);
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);  // a second signal now ends the process
    web.stop(5s);                                     // running calls get five seconds, then an error
    return passed ? 0 : 1;
}

int main(int argc, char** argv) {
    try {
        return serve(argc > 1 && std::string(argv[1]) == "--self-test");
    } catch (const std::exception& e) {
        std::fprintf(stderr, "http_server: %s\n", e.what());
        return 1;
    }
}
