#include "program/service_notify.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace keel::inline KEEL_ABI::program {

namespace {

std::string take_variable(const char* name) {
    const char* value = std::getenv(name);
    std::string text = value ? value : "";
    ::unsetenv(name);
    return text;
}

std::uint64_t number_in(const char* name, const std::string& text) {
    std::uint64_t n = 0;
    auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (wrong != std::errc() || end != text.data() + text.size() || n == 0 || n > INT64_MAX) {
        throw std::invalid_argument(std::string(name) + ": invalid number: " + text);
    }
    return n;
}

std::uint64_t monotonic_microseconds() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(now.tv_nsec) / 1000;
}

}  // namespace

service_request take_service_request() {
    service_request out;
    out.socket = take_variable("NOTIFY_SOCKET");
    std::string time = take_variable("WATCHDOG_USEC");
    std::string process = take_variable("WATCHDOG_PID");
    if (!out.socket.empty() && ((out.socket[0] != '/' && out.socket[0] != '@') || out.socket.size() < 2 ||
                                out.socket.size() >= sizeof(sockaddr_un::sun_path))) {
        throw std::invalid_argument("NOTIFY_SOCKET: invalid address: " + out.socket + " (an absolute path, or @NAME)");
    }
    if (time.empty()) return out;
    auto interval = std::chrono::microseconds(number_in("WATCHDOG_USEC", time));
    bool ours = process.empty() || number_in("WATCHDOG_PID", process) == static_cast<std::uint64_t>(::getpid());
    if (ours) out.watchdog = interval;
    return out;
}

service_notify::service_notify(std::shared_ptr<async::epoll_loop> on, const service_request& request,
                               std::function<void(std::string)> failed)
    : on_(std::move(on)), request_(request), failed_(std::move(failed)) {
    if (request_.socket.empty()) return;
    socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0)
        throw std::system_error(errno, std::generic_category(), "cannot create a socket for NOTIFY_SOCKET");
    // A service manager that does not read must not block the server.
    timeval most{.tv_sec = 1, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
}

service_notify::~service_notify() {
    on_->stop_timer(watchdog_);
    if (socket_ >= 0) ::close(socket_);
}

void service_notify::send(std::string_view text) {
    if (socket_ < 0) return;
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, request_.socket.data(), request_.socket.size());
    if (to.sun_path[0] == '@') to.sun_path[0] = '\0';  // a name in the abstract namespace
    auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + request_.socket.size());
    if (::sendto(socket_, text.data(), text.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to), size) < 0) {
        failed_("cannot notify the service manager at " + request_.socket + ": " +
                std::generic_category().message(errno));
    }
}

void service_notify::ready() {
    send("READY=1");
    if (watchdog_ == 0) arm_watchdog();
}

void service_notify::reloading() { send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(monotonic_microseconds())); }

void service_notify::stopping() { send("STOPPING=1"); }

void service_notify::arm_watchdog() {
    if (socket_ < 0 || !request_.watchdog) return;
    // Half of the time, as sd_watchdog_enabled recommends. From a timer of the loop: a loop that hangs sends nothing.
    watchdog_ = start_timer_after(*on_, std::chrono::duration_cast<duration>(*request_.watchdog) / 2, [this] {
        send("WATCHDOG=1");
        arm_watchdog();
    });
}

}  // namespace keel::program
