// self-test
// A server inside a game with 60 frames per second. Its tools use the objects of the game, which belong to the main thread, without
// locks. Two ways: the server has its own thread and posts the calls to the main thread, or the main thread polls the server. To
// show that it works, a second thread plays the part of a client.

#include <keel/blocking_client.hpp>
#include <keel/event_loop.hpp>
#include <keel/server.hpp>
#include <keel/transport.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

using namespace std::chrono_literals;

struct move_args {
    int by = 0;
};
KEEL_DESCRIBE(move_args, by)

/// Belongs to the main thread.
struct game {
    int position = 0;
    long frames = 0;

    void draw_frame() {
        ++frames;
        std::this_thread::sleep_for(16'667us);  // a real game draws, and waits for the display
    }
};

/// Work for the main thread. It runs once per frame.
class main_thread_queue {
public:
    void post(std::function<void()> work) {
        std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(work));
    }
    void run() {
        std::vector<std::function<void()>> now;
        {
            std::lock_guard lock(mutex_);
            now.swap(waiting_);
        }
        for (auto& work : now) work();
    }

private:
    std::mutex mutex_;
    std::vector<std::function<void()>> waiting_;
};

/// The client: two moves, from another thread.
static std::string play(const std::string& path) {
    try {
        keel::blocking_client client(keel::unix_socket{.path = path});
        client.connect();
        client.call_tool<std::string>("move", move_args{.by = 40});
        return client.call_tool<std::string>("move", move_args{.by = 2});
    } catch (const std::exception& e) {
        return e.what();
    }
}

/// Posts the calls to the main thread.
static std::string with_a_queue(const std::string& path) {
    game world;
    main_thread_queue main_thread;
    keel::server_options options;
    options.run_on = [&](std::function<void()> work) { main_thread.post(std::move(work)); };
    keel::server server({.name = "game", .version = "1.0.0"}, options);
    server.add_tool("move", "Moves the player", [&](move_args in) {
        world.position += in.by;  // on the main thread, between two frames
        return "at " + std::to_string(world.position);
    });
    server.start(keel::endpoint::unix_socket(path));

    std::string answer;
    std::atomic<bool> played = false;
    std::jthread client([&] {
        answer = play(path);
        played = true;
    });
    std::atomic<bool> stopped = false;
    for (bool stopping = false; !stopped;) {
        main_thread.run();
        world.draw_frame();
        if (played && !stopping) {  // the player leaves the game
            stopping = true;
            server.request_stop(1s, [&] { stopped = true; });
        }
    }
    client.join();
    return answer;
}

/// Polls the server in every frame. There is no second thread.
static std::string with_polling(const std::string& path) {
    game world;
    keel::event_loop loop;
    keel::server server({.name = "game", .version = "1.0.0"});
    server.add_tool("move", "Moves the player",
                    [&](move_args in) {
                        world.position += in.by;
                        return "at " + std::to_string(world.position);
                    },
                    {.quick = true});
    std::unique_ptr<keel::listener> listener = keel::listen_unix(
        *loop.get(), path, [&](std::unique_ptr<keel::connection> wire) { server.serve(loop.get(), std::move(wire)); });

    std::string answer;
    std::atomic<bool> played = false;
    std::jthread client([&] {
        answer = play(path);
        played = true;
    });
    bool stopped = false;
    for (bool stopping = false; !stopped;) {
        loop.poll();  // runs quick handlers and coroutines here
        world.draw_frame();
        if (played && !stopping) {
            stopping = true;
            listener->close();
            server.request_stop(1s, [&] { stopped = true; });
        }
    }
    client.join();
    return answer;
}

int main() {
    try {
        std::string path = "/tmp/keel-game-" + std::to_string(getpid()) + ".sock";
        std::string posted = with_a_queue(path);
        std::string polled = with_polling(path);
        std::printf("posted: %s\npolled: %s\n", posted.c_str(), polled.c_str());
        return posted == "at 42" && polled == "at 42" ? 0 : 1;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "game_loop: %s\n", e.what());
        return 1;
    }
}
