// self-test
// A client without coroutines: every function blocks until it returns its value or throws. Given a command, it lists the tools
// of that server: blocking_client ./calculator. The self-test starts this same program with --serve as its server.

#include <keel/blocking_client.hpp>
#include <keel/main.hpp>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

using namespace std::chrono_literals;
namespace json = keel::json;

// ---- the server ----

struct add_args {
    double a = 0;
    double b = 0;
};
KEEL_DESCRIBE(add_args, a, b)

struct consent {
    bool sure = false;
};
KEEL_DESCRIBE(consent, sure)

static keel::task<std::string> clear(keel::context& ctx) {
    keel::elicited<consent> answer = co_await ctx.elicit<consent>("sure", "Clear the memory?");
    co_return answer && answer->sure ? "cleared" : "kept";
}

static keel::task<std::string> ponder(keel::context& ctx) {
    co_await ctx.sleep(1h);
    co_return "42";
}

static int serve() {
    keel::server server({.name = "calculator", .version = "1.0.0"});
    server.add_tool("add", "Add two numbers", [](add_args in) { return in.a + in.b; });
    server.add_tool("clear", "Clear the memory, if the user is sure", &clear);
    server.add_tool("ponder", "Think for an hour", &ponder);
    server.add_tool("crash", "Ends the process", [] {
        std::fprintf(stderr, "out of paper\n");
        std::_Exit(3);
        return "";
    });
    return keel::run_stdio(server);
}

// ---- the client ----

static void expect(bool right, const char* what) {
    if (!right) throw std::runtime_error(std::string("unexpected: ") + what);
}

static keel::child_process chosen_server(int argc, char** argv) {
    keel::child_process calculator{.command = "./calculator"};
    if (argc > 1) calculator.command = argv[1];
    if (argc > 2) calculator.arguments.assign(argv + 2, argv + argc);
    return calculator;
}

static void show_tools(keel::child_process calculator) {
    keel::blocking_client client(calculator);
    client.connect();
    for (const keel::tool& each : client.list_tools()) {
        std::printf("%s: %s\n", each.name.c_str(), each.description.c_str());
    }
}

static void use_calculator(keel::child_process calculator) {
    keel::client_options options;
    // A plain function runs on a worker thread: it may block, for example to ask the user.
    options.on_form = [](const keel::asked_by& who, const keel::form_question& question) {
        std::printf("%s asks: %s\n", who.server_name().c_str(), question.message.c_str());
        return keel::form_answer(json::object("sure", true));
    };
    options.on_disconnected = [](const keel::disconnection& how) {
        if (!how.cause.empty()) std::printf("lost: %s\n", how.cause.c_str());
    };
    // The next call after a crash restarts the child process.
    options.restart.attempts = 3;

    keel::blocking_client client(calculator, options);
    client.connect();
    double sum = client.call_tool<double>("add", json::object("a", 1, "b", 2));
    std::printf("1 + 2 = %g\n", sum);
    expect(sum == 3, "the sum");
    expect(client.call_tool<std::string>("clear") == "cleared", "an answered form");

    // Thread-safe: several threads may call at the same time, and any thread may cancel a call.
    std::jthread another([&](std::stop_token stop) {
        try {
            client.call_tool("ponder", {}, keel::call_options(stop));
        } catch (const keel::error& e) {
            std::printf("%s\n", e.what());
        }
    });
    add_args more{.a = 20, .b = 22};
    expect(client.call_tool<double>("add", more) == 42, "two concurrent calls");
    another.request_stop();
    another.join();

    // When the child exits, pending calls fail, and the error says how it ended. The library never retries a call by itself.
    try {
        client.call_tool("crash");
        expect(false, "a call to a dead process");
    } catch (const keel::error& e) {
        expect(e.kind() == keel::error_kind::closed, "the error kind");
        expect(std::string_view(e.what()).find("exited with status 3") != std::string_view::npos, "the exit status");
        expect(std::string_view(e.what()).find("out of paper") != std::string_view::npos, "its stderr");
    }
    expect(client.call_tool<double>("add", more) == 42, "a call after a restart");
    client.close();
}

int main(int argc, char** argv) {
    std::string_view first = argc > 1 ? argv[1] : "";
    if (first == "--serve") return serve();
    try {
        if (first == "--self-test") use_calculator({.command = argv[0], .arguments = {"--serve"}});
        else show_tools(chosen_server(argc, argv));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "blocking_client: %s\n", e.what());
        return 1;
    }
    return 0;
}
