// A second lower bound for HTTP: a Boost.Beast server that parses each request with Beast and sends a constant
// response. One thread; sockets without type-erased executors, reused buffers and requests, and a prebuilt response:
// the cost of Beast when used well.
//
//     bench-http_beast_floor [BODY_BYTES]

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;
using tcp_socket = asio::basic_stream_socket<tcp, asio::io_context::executor_type>;
using tcp_acceptor = asio::basic_socket_acceptor<tcp, asio::io_context::executor_type>;

std::string make_answer(std::size_t body) {
    return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body) + "\r\n\r\n" +
           '"' + std::string(body - 2, 'x') + '"';
}

/// One connection. The pending operation owns it, so it is destroyed after the first failure.
class connection : public std::enable_shared_from_this<connection> {
public:
    connection(tcp_socket socket, const std::string& answer) : socket_(std::move(socket)), answer_(answer) {
        buffer_.reserve(8192);  // otherwise Beast reads 512 bytes at a time
    }

    void read() {
        // A parser handles one message; the string of the body is reused, so that it is not allocated each time.
        body_.clear();
        parser_.emplace();
        parser_->get().body() = std::move(body_);
        parser_->body_limit(1 << 20);
        http::async_read(socket_, buffer_, *parser_, [self = shared_from_this()](error_code error, std::size_t) {
            if (!error) self->write();
        });
    }

private:
    void write() {
        const bool stays = parser_->keep_alive();
        body_ = std::move(parser_->get().body());
        asio::async_write(socket_, asio::buffer(answer_),
                          [self = shared_from_this(), stays](error_code error, std::size_t) {
                              if (!error && stays) self->read();
                          });
    }

    tcp_socket socket_;
    const std::string& answer_;  // owned by main
    boost::beast::flat_buffer buffer_;
    std::string body_;
    std::optional<http::request_parser<http::string_body>> parser_;
};

class listener {
public:
    listener(asio::io_context& io, const std::string& answer)
        : acceptor_(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)), answer_(answer) {}

    unsigned port() const { return acceptor_.local_endpoint().port(); }

    void accept() {
        acceptor_.async_accept([this](error_code error, tcp_socket socket) {
            if (!error) {
                socket.set_option(tcp::no_delay(true));
                std::make_shared<connection>(std::move(socket), answer_)->read();
            }
            accept();
        });
    }

private:
    tcp_acceptor acceptor_;
    const std::string& answer_;  // owned by main
};

}  // namespace

int main(int argc, char** argv) {
    try {
        const auto body = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 128;
        if (body < 2 || body > (1u << 20)) {
            std::fprintf(stderr, "http_beast_floor: invalid body size\n");
            return 2;
        }
        const std::string answer = make_answer(body);
        asio::io_context io(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE);
        listener all(io, answer);
        all.accept();
        std::fprintf(stderr, "serving http://127.0.0.1:%u/mcp\n", all.port());
        io.run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "http_beast_floor: %s\n", error.what());
        return 1;
    }
    return 0;
}
