#include "transport/system_memory.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace keel::inline KEEL_ABI::transport {

namespace {

std::string text_of(const std::string& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::size_t number_at(std::string_view text) noexcept {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    std::size_t n = 0;
    auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n);
    return problem == std::errc() ? n : 0;
}

/// The limits of a control group and all its parents apply.
std::size_t group_limit(std::string folder, const char* file) {
    std::size_t least = 0;
    for (;;) {
        const std::size_t limit = read_memory_limit(text_of("/sys/fs/cgroup" + folder + "/" + file));
        if (limit > 0 && (least == 0 || limit < least)) least = limit;
        if (folder.empty()) return least;
        folder.erase(std::min(folder.rfind('/'), folder.size()));
    }
}

/// The folder of this process in /proc/self/cgroup: "0::/a/b" (version 2) or "4:memory:/a/b" (version 1).
std::string folder_of_group(std::string_view groups, std::string_view controller) {
    while (!groups.empty()) {
        std::string_view line = groups.substr(0, groups.find('\n'));
        groups.remove_prefix(std::min(groups.size(), line.size() + 1));
        const std::size_t first = line.find(':');
        const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
        if (second == line.npos || line.substr(first + 1, second - first - 1) != controller) continue;
        std::string folder(line.substr(second + 1));
        return folder == "/" ? "" : folder;
    }
    return "";
}

}  // namespace

std::size_t read_meminfo(std::string_view text) noexcept {
    constexpr std::string_view key = "MemTotal:";
    const std::size_t at = text.find(key);
    return at == text.npos ? 0 : number_at(text.substr(at + key.size())) * 1024;
}

std::size_t read_memory_limit(std::string_view text) noexcept { return number_at(text); }

std::size_t available_memory() {
    const std::size_t machine = read_meminfo(text_of("/proc/meminfo"));
    const std::string groups = text_of("/proc/self/cgroup");
    std::size_t least = machine > 0 ? machine : std::size_t(1) << 30;
    for (std::size_t limit : {group_limit(folder_of_group(groups, ""), "memory.max"),
                              group_limit("/memory" + folder_of_group(groups, "memory"), "memory.limit_in_bytes")}) {
        if (limit > 0) least = std::min(least, limit);
    }
    return least;
}

}  // namespace keel::transport
