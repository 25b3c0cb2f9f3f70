#include "transport/activation.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>

namespace keel::inline KEEL_ABI::transport {

namespace {

constexpr int first_descriptor = 3;
constexpr int most_descriptors = 1024;

std::string take_variable(const char* name) {
    const char* value = std::getenv(name);
    std::string text = value ? value : "";
    ::unsetenv(name);
    return text;
}

int number_in(const char* name, const std::string& text, int most) {
    int n = 0;
    auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (wrong != std::errc() || end != text.data() + text.size() || n < 1 || n > most) {
        throw std::invalid_argument(std::string(name) + ": invalid number: " + text);
    }
    return n;
}

}  // namespace

std::vector<passed_socket> take_passed_sockets() {
    std::string process = take_variable("LISTEN_PID");
    std::string count = take_variable("LISTEN_FDS");
    std::string names = take_variable("LISTEN_FDNAMES");
    if (process.empty() || count.empty()) return {};
    if (number_in("LISTEN_PID", process, INT32_MAX) != ::getpid()) return {};
    std::vector<passed_socket> all(static_cast<std::size_t>(number_in("LISTEN_FDS", count, most_descriptors)));
    int next = first_descriptor;
    for (std::size_t at = 0; passed_socket & each : all) {
        each.descriptor = next++;
        if (::fcntl(each.descriptor, F_SETFD, FD_CLOEXEC) != 0) {
            throw std::invalid_argument("LISTEN_FDS: descriptor " + std::to_string(each.descriptor) + " is not open");
        }
        if (at > names.size()) continue;
        std::size_t end = std::min(names.find(':', at), names.size());
        each.name = names.substr(at, end - at);
        at = end + 1;
    }
    return all;
}

}  // namespace keel::transport
