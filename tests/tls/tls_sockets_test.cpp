#include "support/process_facts.hpp"
#include "support/real_loops.hpp"
#include "tls_peers.hpp"
#include "transport/fd_connection.hpp"

#include <keel/child_process.hpp>
#include <keel/transport.hpp>

#include <filesystem>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;

namespace {

/// Listens on a TCP port and echoes everything, with a small buffer.
template <class On>
struct echo_server {
    struct guest final : connection::listener {
        guest(echo_server& s, std::unique_ptr<connection> raw)
            : owner(s), wire(s.on.loop(), std::move(raw), *s.context) {
            name = wire.describe();
            wire.start(*this);
        }
        ~guest() = default;
        void on_input(std::string_view bytes) override {
            owned += bytes;
            if (!send()) return;
            if (owned.size() > 32 * 1024) wire.pause();
        }
        void on_input_end() override {
            ended = true;
            if (send() && owned.empty()) owner.leave(*this, "ended");
        }
        void on_failure(std::string_view cause) override { owner.leave(*this, cause); }
        void on_writable() override {
            if (!send()) return;
            if (owned.size() <= 32 * 1024) wire.resume();
            if (ended && owned.empty()) owner.leave(*this, "ended");
        }
        /// Returns false if this client is gone.
        bool send() {
            auto done = wire.write(owned);
            if (!done.failure.empty()) {
                owner.leave(*this, done.failure);
                return false;
            }
            owned.erase(0, done.bytes);
            return true;
        }
        echo_server& owner;
        tls::tls_connection wire;
        std::string name;
        std::string owned;
        bool ended = false;
    };

    echo_server() {
        at = listen_tcp(on.loop(), {"127.0.0.1", 0}, [this](std::unique_ptr<connection> raw) {
            guests.push_back(std::make_unique<guest>(*this, std::move(raw)));
            last_name = guests.back()->name;
        });
    }
    ~echo_server() {
        at.reset();
        guests.clear();
        on.loop().end();
    }
    void leave(guest& g, std::string_view cause) {
        causes.emplace_back(cause);
        guests.remove_if([&](auto& one) { return one.get() == &g; });
    }
    std::string port() const { return std::to_string(at->port()); }

    On on;
    const tls::tls_context* context = &common_context();
    std::unique_ptr<listener> at;
    std::list<std::unique_ptr<guest>> guests;
    std::vector<std::string> causes;  // why each client was disconnected
    std::string last_name;
};

/// A program on the other side, and its output.
template <class On>
struct program {
    program(echo_server<On>& server, const std::string& command, std::vector<std::string> arguments) : on(server.on) {
        child_options options;
        options.on_end = [this](const child_end& e) { end = e; };
        started = start_child(on.loop(), {.command = command, .arguments = std::move(arguments)}, options);
        started.wire->start(heard);
    }
    /// Closes its standard input and returns its output.
    std::string finish() {
        started.wire->close();
        on.until([&] { return end.has_value(); });
        return end->text() + "\n" + end->stderr_tail;
    }
    std::string wait() {
        on.until([&] { return end.has_value() && (heard.ended || heard.failures > 0); });
        return heard.input + end->text() + "\n" + end->stderr_tail;
    }
    On& on;
    recorder heard;
    std::optional<child_end> end;
    started_child started;
};

constexpr const char* python_client = R"(
import socket, ssl, sys
port, ca, version = int(sys.argv[1]), sys.argv[2], getattr(ssl.TLSVersion, sys.argv[3])
context = ssl.create_default_context(cafile=ca)
context.minimum_version = context.maximum_version = version
context.set_alpn_protocols(["h2", "http/1.1"])
raw = socket.create_connection(("127.0.0.1", port))
with context.wrap_socket(raw, server_hostname="localhost") as tls:
    print(tls.version(), tls.selected_alpn_protocol(), tls.cipher()[2])
    said = b"".join(b"%d\n" % i for i in range(200_000))
    got = bytearray()
    at = 0
    while len(got) < len(said):
        if at < len(said) and at - len(got) < 100_000:
            at += tls.send(said[at:at + 70_000])
        else:
            got += tls.recv(1 << 20)
    print("same" if got == said else "different")
    rest = tls.unwrap()  # waits for the other's close_notify
    print("end", rest.recv(1))
)";

int connect_to(std::uint16_t port) {
    int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(fd >= 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
    return fd;
}

}  // namespace

TEST_CASE_TEMPLATE("Python's ssl trusts our certificate, exchanges megabytes and receives close_notify", On,
                   KEEL_TEST_LOOPS) {
    for (std::string version : {"TLSv1_2", "TLSv1_3"}) {
        echo_server<On> server;
        program<On> python(server, "python3",
                           {"-c", python_client, server.port(), common_certificate().certificate_chain, version});
        std::string said = python.wait();
        std::string dotted = version == "TLSv1_2" ? "TLSv1.2" : "TLSv1.3";
        CHECK(said.starts_with(dotted + " http/1.1 "));
        CHECK(said.ends_with("\nsame\nend b''\nexited with status 0\n"));
        server.on.until([&] { return server.guests.empty(); });
        CHECK(server.causes == std::vector<std::string>{"ended"});
        CHECK(server.last_name.starts_with("tls 127.0.0.1:"));
    }
}

TEST_CASE_TEMPLATE("openssl s_client verifies our certificate and exchanges data", On, KEEL_TEST_LOOPS_AND_STRAND) {
    echo_server<On> server;
    program<On> client(server, "openssl",
                       {"s_client", "-quiet", "-no_ign_eof", "-verify_return_error", "-verify_hostname", "localhost",
                        "-CAfile", common_certificate().certificate_chain, "-connect", "127.0.0.1:" + server.port()});
    REQUIRE(client.started.wire->write("hello\n").bytes == 6);
    server.on.until([&] { return client.heard.input == "hello\n" || client.end; });
    CHECK(client.heard.input == "hello\n");
    CHECK(client.finish().starts_with("exited with status 0\n"));
    server.on.until([&] { return server.guests.empty(); });
    CHECK(server.causes == std::vector<std::string>{"ended"});
}

TEST_CASE("openssl s_client with TLS 1.1 is refused with an alert") {
    echo_server<on_epoll> server;
    program<on_epoll> client(
        server, "openssl",
        {"s_client", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0", "-connect", "127.0.0.1:" + server.port()});
    std::string said = client.wait();
    CHECK(said.find("exited with status 1") != std::string::npos);
    CHECK(said.find("alert protocol version") != std::string::npos);
    server.on.until([&] { return server.guests.empty(); });
    CHECK(server.causes == std::vector<std::string>{"the TLS handshake failed: unsupported protocol"});
}

TEST_CASE("a session is resumed with its ticket, but not after a reload") {
    scratch_folder folder;
    tls::tls_files files = make_certificate(folder, "own");
    tls::tls_context context(files);
    echo_server<on_epoll> server;
    server.context = &context;
    std::string ticket = folder.file("ticket");
    auto talk = [&](const char* flag) {
        program<on_epoll> client(server, "openssl",
                                 {"s_client", "-no_ign_eof", flag, ticket, "-connect", "127.0.0.1:" + server.port()});
        client.started.wire->write("hello\n");
        // Its output ends with "hello" only after the tickets, which come first, have been read.
        server.on.until([&] { return client.heard.input.ends_with("\nhello\n") || client.end; });
        client.finish();
        server.on.until([&] { return server.guests.empty(); });
        return client.heard.input;
    };
    CHECK(talk("-sess_out").find("\nNew, TLSv1.3") != std::string::npos);
    REQUIRE(std::filesystem::exists(ticket));
    CHECK(talk("-sess_in").find("\nReused, TLSv1.3") != std::string::npos);
    context.reload();
    CHECK(talk("-sess_in").find("\nNew, TLSv1.3") != std::string::npos);
}

TEST_CASE("a Keel client and a Keel server talk over a real socket") {
    echo_server<on_epoll> server;
    auto begin = [&](std::string_view host) {
        return std::make_unique<tls::tls_connection>(
            server.on.loop(),
            std::make_unique<transport::fd_connection>(server.on.loop(), descriptor(connect_to(server.at->port())),
                                                       "tcp there"),
            common_trust().new_session(host));
    };
    auto client = begin("127.0.0.1");
    CHECK(client->describe() == "tls there");
    recorder heard;
    std::string said = numbers(2'000'000);
    std::size_t sent = 0;
    auto send = [&] { sent += client->write(std::string_view(said).substr(sent)).bytes; };
    heard.when_writable = send;
    client->start(heard);
    send();
    server.on.until([&] { return heard.input.size() == said.size() || heard.failures > 0; });
    CHECK(heard.input == said);
    client->close();
    server.on.until([&] { return server.guests.empty(); });
    CHECK(server.causes == std::vector<std::string>{"ended"});

    recorder stranger;
    client = begin("other.example");
    client->start(stranger);
    server.on.until([&] { return stranger.failures > 0 && server.guests.empty(); });
    CHECK(stranger.failure ==
          "the TLS handshake failed: the certificate of other.example was rejected: it is for localhost, 127.0.0.1");
    CHECK(server.causes.back().find("alert bad certificate") != std::string::npos);
}

TEST_CASE("plain HTTP on a TLS port gets an error page and the end, over a real socket") {
    echo_server<on_epoll> server;
    descriptor plain(connect_to(server.at->port()));
    write_all(plain.get(), "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    server.on.until([&] { return !server.causes.empty(); });
    CHECK(read_all(plain.get()).starts_with("HTTP/1.1 400 Bad Request\r\n"));
    CHECK(server.guests.empty());
}

TEST_CASE("accepted output reaches a slow reader over a real socket after the connection is destroyed") {
    on_epoll on;
    two_ends ends = make_socket_pair();
    std::size_t before = open_descriptors();
    auto wire = std::make_unique<tls::tls_connection>(
        on.loop(), std::make_unique<transport::fd_connection>(on.loop(), std::move(ends.ours), "socket"),
        common_context());
    recorder heard;
    tls_client client;
    bool open = true;
    auto turn = [&] {
        write_all(ends.theirs.get(), client.take_output());
        on.poll();
        char room[4096];
        ssize_t n = ::recv(ends.theirs.get(), room, sizeof room, MSG_DONTWAIT);
        if (n > 0) client.feed(std::string_view(room, static_cast<std::size_t>(n)));
        open = n != 0;
    };
    wire->start(heard);
    while (!wire->handshaken()) turn();
    client.send("go");
    std::size_t taken = 0;
    heard.when_input = [&] {
        taken = wire->write(std::string(4'000'000, 'x')).bytes;
        wire.reset();
    };
    while (open) {
        turn();
        if (client.ended) client.take_output();
    }
    CHECK(taken > 64 * 1024);
    CHECK(taken < 4'000'000);
    CHECK(client.input.size() == taken);
    CHECK(client.ended);
    CHECK(open_descriptors() == before - 1);  // the other end of the pair is still open
}

TEST_CASE("without a loop, flushing after close is skipped") {
    on_epoll on;
    two_ends ends = make_socket_pair();
    tls::tls_connection wire(on.loop(),
                             std::make_unique<transport::fd_connection>(on.loop(), std::move(ends.ours), "socket"),
                             common_context());
    recorder heard;
    tls_client client;
    wire.start(heard);
    while (!wire.handshaken()) {
        write_all(ends.theirs.get(), client.take_output());
        on.poll();
        char room[16 * 1024];
        ssize_t n = ::recv(ends.theirs.get(), room, sizeof room, MSG_DONTWAIT);
        if (n > 0) client.feed(std::string_view(room, static_cast<std::size_t>(n)));
    }
    CHECK(wire.write(std::string(4'000'000, 'x')).bytes < 4'000'000);
    std::size_t before = open_descriptors();
    on.loop().end();
    std::size_t ended = open_descriptors();
    CHECK(ended < before);  // those of the loop
    wire.close();
    CHECK(open_descriptors() == ended - 1);
}

TEST_CASE("200 connections dropped during the handshake leak neither memory nor descriptors") {
    echo_server<on_epoll> server;
    std::string hello = tls_client().take_output();
    auto drop = [&](std::size_t bytes, bool reset) {
        descriptor fd(connect_to(server.at->port()));
        write_all(fd.get(), hello.substr(0, bytes));
        if (bytes % 2 == 0) server.on.poll();  // half of them are answered before they are dropped
        linger at_once{1, 0};
        if (reset) ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    };
    auto all_gone = [&](std::size_t count) {
        server.on.until([&] { return server.causes.size() == count && server.guests.empty(); });
    };
    drop(hello.size(), false);
    drop(hello.size(), true);
    all_gone(2);  // one-time allocations
    std::size_t descriptors = open_descriptors();
    std::size_t bytes = openssl_bytes();
    for (std::size_t i = 0; i < 200; ++i) drop(i % 3 == 0 ? hello.size() : i % hello.size(), i % 5 == 0);
    all_gone(202);
    CHECK(open_descriptors() == descriptors);
    CHECK(openssl_bytes() == bytes);
    // The server still works.
    program<on_epoll> python(server, "python3",
                             {"-c", python_client, server.port(), common_certificate().certificate_chain, "TLSv1_3"});
    CHECK(python.wait().ends_with("\nsame\nend b''\nexited with status 0\n"));
}
