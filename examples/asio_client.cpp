// self-test
// A client on the program's own io_context, called from an Asio coroutine. Link keel::asio in addition to keel::keel.

#include <keel/asio.hpp>
#include <keel/client.hpp>
#include <keel/server.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

keel::task<void> tour(keel::client& client, keel::server& server) {
    co_await client.connect();
    std::string greeting = co_await client.call_tool<std::string>("hello");
    std::printf("%s\n", greeting.c_str());
    if (greeting != "hello from the io_context") throw std::runtime_error("unexpected greeting");
    co_await client.close();
    server.request_stop();
}

boost::asio::awaitable<void> in_asio(boost::asio::io_context& io, keel::client& client, keel::server& server) {
    co_await keel::spawn(io, tour(client, server), boost::asio::use_awaitable);
}

int main() {
    boost::asio::io_context io;
    keel::server server({.name = "greeter", .version = "1.0.0"});
    server.add_tool("hello", "Says hello", [] { return "hello from the io_context"; });
    keel::client_options options;
    options.about = {.name = "asio-client", .version = "1.0.0"};
    keel::client client(keel::loop_on(io), server, options);

    int status = 0;
    boost::asio::co_spawn(io, in_asio(io, client, server), [&](std::exception_ptr failure) {
        try {
            if (failure) std::rethrow_exception(failure);
        } catch (const std::exception& e) {
            std::fprintf(stderr, "asio_client: %s\n", e.what());
            status = 1;
        }
    });
    io.run();
    return status;
}
