#pragma once

// Tells a service manager about the state of this process, as sd_notify of systemd does.

#include "async/epoll_loop.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::program {

/// What a service manager asks for in the environment.
struct service_request {
    std::string socket = {};  // NOTIFY_SOCKET; "": none
    /// WATCHDOG_USEC, if WATCHDOG_PID is this process or missing.
    std::optional<std::chrono::microseconds> watchdog = {};
};

/// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and removes them so that child processes do not notify in our name. Throws
/// std::invalid_argument if they are invalid. Must be called before other threads use the environment.
service_request take_service_request();

/// Sends notifications as datagrams. Without a socket, every function does nothing. Call everything on the loop.
class service_notify {
public:
    /// `failed` is called with the reason when a notification cannot be sent.
    service_notify(std::shared_ptr<async::epoll_loop> on, const service_request& request,
                   std::function<void(std::string)> failed);
    ~service_notify();
    service_notify(const service_notify&) = delete;
    service_notify& operator=(const service_notify&) = delete;

    /// READY=1. Starts the watchdog messages at the first call.
    void ready();
    /// RELOADING=1 with the current time, as Type=notify-reload requires it. Call ready() after the reload.
    void reloading();
    /// STOPPING=1. The watchdog messages continue.
    void stopping();

private:
    void send(std::string_view text);
    void arm_watchdog();

    const std::shared_ptr<async::epoll_loop> on_;
    const service_request request_;
    const std::function<void(std::string)> failed_;
    int socket_ = -1;
    loop::timer watchdog_ = 0;
};

}  // namespace keel::program
