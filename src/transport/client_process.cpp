#include "transport/client_process.hpp"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <array>
#include <charconv>
#include <cstddef>

namespace keel::inline KEEL_ABI::transport {

namespace {

bool is_private_stream(std::string_view input) { return input.starts_with("pipe:[") || input.starts_with("socket:["); }

// Only a socket pair connects a server with the process that started it. The peer of any other socket (of inetd, for example) is
// an unrelated process.
bool is_socket_pair(int fd) {
    auto is_unnamed = [fd](auto name_of) {
        sockaddr_un name{};
        socklen_t size = sizeof name;
        return name_of(fd, reinterpret_cast<sockaddr*>(&name), &size) == 0 && name.sun_family == AF_UNIX &&
               size <= offsetof(sockaddr_un, sun_path);
    };
    return is_unnamed(::getsockname) && is_unnamed(::getpeername);
}

std::string path_of(pid_t pid, const char* file) { return "/proc/" + std::to_string(pid) + file; }

std::optional<process_facts> read_facts(pid_t pid) {
    descriptor stat(::open(path_of(pid, "/stat").c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 1024> text;
    ssize_t size = stat ? ::read(stat.get(), text.data(), text.size()) : -1;
    if (size <= 0) return std::nullopt;
    std::optional<process_facts> facts = parse_process_stat({text.data(), static_cast<std::size_t>(size)});
    if (!facts) return std::nullopt;
    facts->pid = pid;
    ssize_t length = ::readlink(path_of(pid, "/fd/0").c_str(), text.data(), text.size());
    if (length > 0) facts->input.assign(text.data(), static_cast<std::size_t>(length));
    return facts;
}

std::vector<process_facts> read_chain() {
    constexpr std::size_t longest = 64;
    std::vector<process_facts> chain;
    for (pid_t pid = ::getpid(); pid > 0 && chain.size() < longest; pid = chain.back().parent) {
        std::optional<process_facts> facts = read_facts(pid);
        if (!facts) break;
        chain.push_back(std::move(*facts));
    }
    return chain;
}

}  // namespace

std::optional<process_facts> parse_process_stat(std::string_view text) {
    // "1234 (name) S 1 ...": the name may contain spaces and parentheses. Parent and start time are the fields 4 and 22.
    constexpr int parent_field = 4;
    constexpr int start_time_field = 22;
    std::size_t name_end = text.rfind(')');
    if (name_end == std::string_view::npos) return std::nullopt;
    text.remove_prefix(name_end + 1);
    auto number = [](std::string_view word, auto& into) {
        auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), into);
        return problem == std::errc() && end == word.data() + word.size();
    };
    process_facts facts;
    for (int field = 3; field <= start_time_field; ++field) {
        std::size_t begin = text.find_first_not_of(" \n");
        if (begin == std::string_view::npos) return std::nullopt;
        text.remove_prefix(begin);
        std::string_view word = text.substr(0, text.find_first_of(" \n"));
        text.remove_prefix(word.size());
        if (field == parent_field && !number(word, facts.parent)) return std::nullopt;
        if (field == start_time_field && !number(word, facts.start_time)) return std::nullopt;
    }
    return facts;
}

std::optional<std::size_t> find_client(std::span<const process_facts> chain) {
    if (chain.empty() || !is_private_stream(chain.front().input)) return std::nullopt;
    for (std::size_t i = 1; i < chain.size(); ++i) {
        const process_facts& child = chain[i - 1];
        // A parent that is younger than its child has the reused pid of a parent that has ended.
        if (chain[i].pid != child.parent || chain[i].start_time > child.start_time) return std::nullopt;
        if (chain[i].input.empty()) return std::nullopt;
        if (chain[i].input != chain.front().input) return i;
    }
    return std::nullopt;
}

std::optional<client_process> open_client_process() {
    constexpr int attempts = 8;
    for (int i = 0; i < attempts; ++i) {
        std::vector<process_facts> chain = read_chain();
        std::optional<std::size_t> at = find_client(chain);
        if (!at) return std::nullopt;
        if (chain.front().input.starts_with("socket:[") && !is_socket_pair(0)) return std::nullopt;
        client_process client;
        client.pid = chain[*at].pid;
        client.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, client.pid, 0)));
        // If the chain is still the same, the pidfd belongs to the process that was found and not to one that reused its pid.
        if (client.pidfd && read_chain() == chain) return client;
    }
    return std::nullopt;
}

}  // namespace keel::transport
