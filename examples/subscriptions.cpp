// self-test
// A resource that changes: the server announces each change, and clients that subscribed read the resource again.

#include <keel/blocking_client.hpp>
#include <keel/main.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

using namespace std::chrono_literals;

// Reads the resource as a client does: subscribes, waits for one change, reads the new value.
static bool client_sees_change(keel::server& server, std::atomic<double>& degrees) {
    keel::blocking_client client(server);
    client.connect();
    keel::subscription_request wanted;
    wanted.uris = {"sensor:kitchen"};
    keel::blocking_subscription changes = client.subscribe(wanted);

    degrees = 21.5;
    server.resource_updated("sensor:kitchen");

    std::optional<keel::change> change = changes.next();
    if (!change || change->uri != "sensor:kitchen") return false;
    std::string text = client.read_resource(change->uri).at(0).text.value_or("");
    std::printf("%s: %s\n", change->uri.c_str(), text.c_str());
    return text == "21.500000";
}

// Stands in for a sensor: a new value every second until the thread is asked to stop.
static void measure(std::stop_token stop, keel::server& server, std::atomic<double>& degrees) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, stop, 1s, [&] { return stop.stop_requested(); })) {
        degrees = degrees.load() + 0.1;
        server.resource_updated("sensor:kitchen");
    }
}

int main(int argc, char** argv) {
    try {
        // Atomic, because the handler runs on a worker thread while another thread writes the value.
        std::atomic<double> degrees = 20.0;
        keel::server server({.name = "thermometer", .version = "1.0.0"});
        server.add_resource({.uri = "sensor:kitchen", .name = "kitchen"},
                            [&degrees] { return std::to_string(degrees.load()); });

        if (argc > 1 && std::string_view(argv[1]) == "--self-test") return client_sees_change(server, degrees) ? 0 : 1;
        std::jthread sensor([&](std::stop_token stop) { measure(stop, server, degrees); });
        return keel::main(server, argc, argv);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "subscriptions: %s\n", e.what());
        return 1;
    }
}
