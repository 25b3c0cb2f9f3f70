// self-test
// A server inside a program that already has an event loop, such as that of Qt or GLib. The program watches one descriptor and polls
// Keel when it is readable; there is no second thread and no timer to manage. To show that it works, the program also has a timer of
// its own, and a second thread plays the part of a client.

#include <keel/blocking_client.hpp>
#include <keel/event_loop.hpp>
#include <keel/http_server.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

/// The event loop of the program. With Qt, `watch` is a QSocketNotifier and `run` is QCoreApplication::exec.
class program_loop {
public:
    void watch(int descriptor, std::function<void()> readable) {
        watched_.push_back({descriptor, POLLIN, 0});
        readable_.push_back(std::move(readable));
    }
    void run() {
        while (!quitting_) {
            if (::poll(watched_.data(), watched_.size(), -1) < 0) continue;
            for (std::size_t i = 0; i < watched_.size() && !quitting_; ++i) {
                if (watched_[i].revents != 0) readable_[i]();
            }
        }
    }
    void quit() { quitting_ = true; }

private:
    std::vector<pollfd> watched_;
    std::vector<std::function<void()>> readable_;
    bool quitting_ = false;
};

static std::string call_hello(const std::string& url) {
    try {
        keel::blocking_client client(keel::url{.address = url});
        client.connect();
        return client.call_tool<std::string>("hello");
    } catch (const std::exception& e) {
        return e.what();
    }
}

int main() {
    try {
        program_loop host;
        keel::event_loop loop;
        keel::server server({.name = "in-a-program", .version = "1.0.0"});
        std::thread::id ran_on;
        server.add_tool("hello", "Says hello", [&](keel::context& ctx) -> keel::task<std::string> {
            co_await ctx.sleep(std::chrono::milliseconds(1));  // timers need nothing from the program either
            ran_on = std::this_thread::get_id();
            co_return "hello from the event loop";
        });
        keel::http_options options;
        options.threads = 1;  // serves on the loop only
        keel::http_server web(server, options);
        web.start("127.0.0.1:0", loop.get());
        host.watch(loop.descriptor(), [&] { loop.poll(); });

        int ticks = 0;  // the program's own work
        int timer = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
        itimerspec every = {{0, 1'000'000}, {0, 1'000'000}};
        ::timerfd_settime(timer, 0, &every, nullptr);
        host.watch(timer, [&] {
            std::uint64_t expired = 0;
            if (::read(timer, &expired, sizeof expired) == sizeof expired) ++ticks;
        });

        std::string answer;
        std::jthread client([&] {
            answer = call_hello(web.url());
            loop.get()->post([&] { server.request_stop({}, [&] { host.quit(); }); });
        });
        host.run();
        client.join();
        ::close(timer);
        std::printf("%s\n", answer.c_str());
        return answer == "hello from the event loop" && ran_on == std::this_thread::get_id() && ticks > 0 ? 0 : 1;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "foreign_event_loop: %s\n", e.what());
        return 1;
    }
}
