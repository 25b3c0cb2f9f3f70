// self-test
// A server in the background of another program: it starts, the program goes on with its own work, tools come and go, it
// stops. To show that it works, the program connects to itself.

#include <keel/server.hpp>

#include <chrono>
#include <cstdio>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using namespace std::chrono_literals;

struct frame_args {
    int number = 0;
};
KEEL_DESCRIBE(frame_args, number)

// One request, one line back. A real client does more.
static std::string ask(const std::string& path, const std::string& request) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un to = {};
    to.sun_family = AF_UNIX;
    path.copy(to.sun_path, sizeof to.sun_path - 1);
    std::string answer;
    if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0 &&
        write(fd, request.data(), request.size()) == static_cast<ssize_t>(request.size())) {
        char c = 0;
        while (read(fd, &c, 1) == 1 && c != '\n') answer += c;
    }
    close(fd);
    return answer;
}

int main() {
    std::string path = "/tmp/keel-embedded-" + std::to_string(getpid()) + ".sock";
    keel::server server({.name = "engine", .version = "1.0.0"});
    server.add_tool("frame", "Describes a frame", [](frame_args in) { return "frame " + std::to_string(in.number); });
    server.start(keel::endpoint::unix_socket(path));

    // The program's own work would go on here.
    std::string answer = ask(path, R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"frame",)"
                                   R"("arguments":{"number":7},"_meta":{)"
                                   R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                                   R"("io.modelcontextprotocol/clientCapabilities":{}}}})"
                                   "\n");
    std::printf("%s\n", answer.c_str());
    server.remove_tool("frame");
    server.stop(1s);
    return answer.find("frame 7") != std::string::npos ? 0 : 1;
}
