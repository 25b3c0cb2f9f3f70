#pragma once

// A blocking client for tests: sends and receives lines over a Unix socket. Received messages must match the official
// schemas.

#include "support/message_check.hpp"

#include <keel/json.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

inline std::string fresh_socket_path() {
    static std::atomic<int> count{0};
    return "/tmp/keel-test-" + std::to_string(getpid()) + "-" + std::to_string(count++) + ".sock";
}

class line_client {
public:
    explicit line_client(const std::string& path) {
        fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_un to = {};
        to.sun_family = AF_UNIX;
        path.copy(to.sun_path, sizeof to.sun_path - 1);
        connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
    }
    line_client(const line_client&) = delete;
    line_client& operator=(const line_client&) = delete;
    ~line_client() { close(fd_); }

    bool connected() const { return connected_; }

    void send(const std::string& line) {
        check_.sent(line);
        std::string text = line + "\n";
        REQUIRE(::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
    }

    /// The next message; null if the server has closed the connection.
    keel::json::value receive() {
        std::string line;
        char c = 0;
        while (true) {
            ssize_t n = read(fd_, &c, 1);
            if (n != 1) return {};
            if (c == '\n') return checked(keel::json::parse(line));
            line += c;
        }
    }

    keel::json::value ask(const std::string& line) {
        send(line);
        return receive();
    }

    void open_session(const char* version = "2025-11-25") {
        keel::json::value answer =
            ask(std::string(R"({"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":")") +
                version + R"(","capabilities":{"roots":{}},"clientInfo":{"name":"test","version":"1"}}})");
        REQUIRE(answer["result"]["protocolVersion"] == keel::json::value(version));
        send(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
    }

    void start_call(int id, const std::string& name, const std::string& arguments = "{}") {
        send(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":"tools/call","params":{"name":")" + name +
             R"(","arguments":)" + arguments + "}}");
    }

    keel::json::value call(int id, const std::string& name, const std::string& arguments = "{}") {
        start_call(id, name, arguments);
        return receive();
    }

private:
    keel::json::value checked(keel::json::value message) {
        std::size_t before = check_.problems().size();
        check_.received(message);
        for (std::size_t i = before; i < check_.problems().size(); ++i) FAIL_CHECK(check_.problems()[i]);
        return message;
    }

    int fd_ = -1;
    bool connected_ = false;
    keel::test::message_check check_;
};

inline std::string text_of(const keel::json::value& answer) {
    return std::string(answer["result"]["content"].at(0)["text"].as_string());
}
