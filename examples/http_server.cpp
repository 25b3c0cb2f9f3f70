// self-test
// A server over HTTP inside a program that has pages of its own.

#include <keel/http_server.hpp>
#include <keel/server.hpp>

#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

struct price_args {
    std::string symbol;
};
KEEL_DESCRIBE(price_args, (symbol, "What it is traded as"))

int main(int argc, char** argv) {
    keel::server server({.name = "prices", .version = "1.0.0"});
    server.add_tool("price", "The last price of something", [](price_args in) { return in.symbol + ": 42.00"; });

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

    keel::http_server web(server, options);
    bool self_test = argc > 1 && std::string(argv[1]) == "--self-test";
    web.start(self_test ? "127.0.0.1:0" : "127.0.0.1:8848");
    std::printf("%s\n", web.url().c_str());
    if (!self_test) server.wait();
    web.stop(std::chrono::seconds(1));
    return web.url().starts_with("http://127.0.0.1:") ? 0 : 1;
}
