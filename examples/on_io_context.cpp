// self-test
// A server on the program's own io_context, together with the program's other work. The program accepts connections itself and
// hands each one to the server. To show that it works, a second thread connects with a blocking client.

#include <keel/asio.hpp>
#include <keel/blocking_client.hpp>
#include <keel/server.hpp>
#include <keel/transport.hpp>

#include <boost/asio/io_context.hpp>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <thread>

#include <unistd.h>

static std::string call_hello(const std::string& path) {
    try {
        keel::blocking_client client(keel::unix_socket{.path = path});
        client.connect();
        return client.call_tool<std::string>("hello");
    } catch (const std::exception& e) {
        return e.what();
    }
}

int main() {
    try {
        std::string path = "/tmp/keel-on-io-context-" + std::to_string(getpid()) + ".sock";
        boost::asio::io_context io;
        keel::server server({.name = "on-io-context", .version = "1.0.0"});
        server.add_tool("hello", "Says hello", [] { return "hello from the io_context"; }, {.quick = true});

        auto loop = keel::loop_on(io);
        std::unique_ptr<keel::listener> listener = keel::listen_unix(
            *loop, path, [&](std::unique_ptr<keel::connection> wire) { server.serve(loop, std::move(wire)); });

        std::string answer;
        std::jthread client([&] {
            answer = call_hello(path);
            loop->post([&] { listener->close(); });
        });
        io.run();  // returns when no work is left: the connection has ended and the listener is closed
        client.join();

        std::printf("%s\n", answer.c_str());
        return answer == "hello from the io_context" ? 0 : 1;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "on_io_context: %s\n", e.what());
        return 1;
    }
}
