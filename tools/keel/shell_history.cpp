#include "shell_history.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace keel::command {

std::string usual_history_file() {
    const char* state = std::getenv("XDG_STATE_HOME");
    if (state && *state == '/') return std::string(state) + "/keel/history";
    const char* home = std::getenv("HOME");
    return home && *home ? std::string(home) + "/.local/state/keel/history" : std::string();
}

std::vector<std::string> read_history(const std::string& path) {
    std::vector<std::string> lines;
    std::ifstream in(path, std::ios::binary);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

bool write_history(const std::string& path, const std::vector<std::string>& lines) {
    std::error_code wrong;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), wrong);
    std::string text;
    for (const std::string& each : lines) text += each + "\n";
    std::string fresh = path + ".new";
    int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return false;
    std::size_t done = 0;
    while (done < text.size()) {
        ssize_t n = ::write(fd, text.data() + done, text.size() - done);
        if (n < 0 && errno != EINTR) break;
        if (n > 0) done += static_cast<std::size_t>(n);
    }
    bool whole = ::close(fd) == 0 && done == text.size();
    if (whole) std::filesystem::rename(fresh, path, wrong);
    return whole && !wrong;
}

}  // namespace keel::command
