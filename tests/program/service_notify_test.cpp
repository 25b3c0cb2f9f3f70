#include "program/service_notify.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;
using keel::program::take_service_request;

TEST_CASE("the variables of a service manager are read once and removed, so that child processes do not inherit them") {
    ::setenv("NOTIFY_SOCKET", "/run/notify", 1);
    ::setenv("WATCHDOG_USEC", "3000000", 1);
    ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
    auto request = take_service_request();
    CHECK(request.socket == "/run/notify");
    CHECK(request.watchdog == 3s);
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) CHECK(std::getenv(name) == nullptr);
    request = take_service_request();
    CHECK(request.socket == "");
    CHECK(request.watchdog == std::nullopt);
}

TEST_CASE("a watchdog for another process is ignored") {
    ::setenv("NOTIFY_SOCKET", "@name", 1);
    ::setenv("WATCHDOG_USEC", "3000000", 1);
    ::setenv("WATCHDOG_PID", "1", 1);
    auto request = take_service_request();
    CHECK(request.socket == "@name");
    CHECK(request.watchdog == std::nullopt);
}

TEST_CASE("invalid variables of a service manager are refused by name, and removed") {
    for (const char* wrong : {"relative", "@", "/"}) {
        CAPTURE(wrong);
        ::setenv("NOTIFY_SOCKET", wrong, 1);
        CHECK_THROWS_AS(take_service_request(), std::invalid_argument);
        CHECK(std::getenv("NOTIFY_SOCKET") == nullptr);
    }
    for (const char* wrong : {"0", "-1", "1s", "99999999999999999999"}) {
        CAPTURE(wrong);
        ::setenv("WATCHDOG_USEC", wrong, 1);
        CHECK_THROWS_AS(take_service_request(), std::invalid_argument);
    }
}
