// Code around the handlers: start and stop hooks with shared state, middleware around every request, custom methods and
// notifications, extensions, and health counters.

#include <keel/main.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace json = keel::json;

/// Shared state of the tools: created before the first connection, destroyed after the last handler has ended.
class ledger {
public:
    int add(int amount) {
        std::lock_guard lock(mutex_);  // tools run on several threads
        return total_ += amount;
    }

private:
    std::mutex mutex_;
    int total_ = 0;
};

struct amount {
    int value = 0;
};
KEEL_DESCRIBE(amount, (value, "Amount to add"))

/// Refuses some calls.
keel::task<json::value> guard(keel::request_call& call, keel::next_handler next) {
    if (call.method == "tools/call" && call.params["name"] == "reset") {
        throw keel::error(1403, "not allowed");
    }
    json::value result = co_await next(call);
    co_return result;
}

/// Changes results. (Parameters can be changed before `next`.)
keel::task<json::value> sign(keel::request_call& call, keel::next_handler next) {
    json::value result = co_await next(call);
    if (call.method == "tools/call") {
        json::value meta = result["_meta"].is_object() ? result["_meta"] : json::object();
        meta.set("com.example/signed", true);
        result.set("_meta", std::move(meta));
    }
    co_return result;
}

int main(int argc, char** argv) {
    keel::server_options options;
    options.extensions["com.example/ledger"] = json::object("currency", "EUR");
    keel::server server({.name = "middleware", .version = "1.0.0"}, options);

    server.on_start([] { return std::make_unique<ledger>(); });
    server.on_stop([] { /* no handler is running; the ledger still exists */ });

    server.use(guard);
    server.use(sign);

    server.add_tool("add", "Adds to the ledger",
                    [](keel::context& ctx, amount in) { return ctx.state<ledger>().add(in.value); });
    server.add_tool("reset", "Refused by the middleware", [] { return "reset"; });

    server.add_method("com.example/total", [](keel::context& ctx, const json::value&) {
        return json::object("total", ctx.state<ledger>().add(0));
    });

    std::atomic<int> hints{0};
    server.add_notification("com.example/hint", [&hints](std::string_view, const json::value&) { ++hints; });

    server.add_method("com.example/health", [&](keel::context&, const json::value&) {
        keel::server_health health = server.health();
        const keel::method_health& calls = health.methods["tools/call"];
        return json::object("connections", health.connections, "calls", calls.count, "refused", calls.errors,
                            "slowest_ns", static_cast<std::int64_t>(calls.slowest.count()), "hints", hints.load());
    });
    return keel::main(server, argc, argv);
}
