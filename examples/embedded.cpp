// self-test
// A server in the background of another program. The program starts it, continues with its own work, adds and removes tools
// at any time, and stops it. To show that it works, the program connects to itself with a blocking client.

#include <keel/blocking_client.hpp>
#include <keel/server.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

#include <unistd.h>

using namespace std::chrono_literals;

struct frame_args {
    int number = 0;
};
KEEL_DESCRIBE(frame_args, number)

int main() {
    try {
        std::string path = "/tmp/keel-embedded-" + std::to_string(getpid()) + ".sock";
        keel::server server({.name = "engine", .version = "1.0.0"});
        server.add_tool("frame", "Describes a frame",
                        [](frame_args in) { return "frame " + std::to_string(in.number); });
        server.start(keel::endpoint::unix_socket(path));

        // The program's own work continues here. A client, usually in another process, connects to the socket:
        keel::blocking_client client(keel::unix_socket{.path = path});
        client.connect();
        std::string answer = client.call_tool<std::string>("frame", frame_args{.number = 7});
        std::printf("%s\n", answer.c_str());
        client.close();

        server.remove_tool("frame");
        server.stop(1s);  // running calls get one second, then an error
        return answer == "frame 7" ? 0 : 1;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "embedded: %s\n", e.what());
        return 1;
    }
}
