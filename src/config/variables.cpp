#include "config/variables.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace keel::inline KEEL_ABI::config {

namespace {

constexpr std::size_t largest_value = 64 * 1024;  // of ${file:PATH}

bool is_name(std::string_view text) {
    auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    return !text.empty() && !(text[0] >= '0' && text[0] <= '9') && std::all_of(text.begin(), text.end(), allowed);
}

std::string of_environment(const std::string& name, const variables& with) {
    if (auto value = with.environment(name)) return *value;
    throw config_error("environment variable " + name + " is not set");
}

std::string of_input(const std::string& id, variables& with) {
    if (auto known = with.answers.find(id); known != with.answers.end()) return known->second;
    config_input input;
    if (auto defined = with.inputs.find(id); defined != with.inputs.end()) input = defined->second;
    else input.id = id;
    auto value = with.ask ? with.ask(input) : input.preset;
    if (!value) throw config_error("missing value of input " + id);
    return with.answers.emplace(id, *value).first->second;
}

std::string value_of(std::string_view name, variables& with) {
    if (name == "workspaceFolder" || name == "workspaceRoot" || name == "cwd") return with.workspace;
    if (name == "workspaceFolderBasename") return std::filesystem::path(with.workspace).filename().string();
    if (name == "pathSeparator" || name == "/") return "/";
    if (name == "userHome") {
        std::string folder = home(with);
        if (folder.empty()) throw config_error("environment variable HOME is not set");
        return folder;
    }
    if (name.starts_with("env:")) return of_environment(std::string(name.substr(4)), with);
    if (name.starts_with("input:")) return of_input(std::string(name.substr(6)), with);
    if (name.starts_with("file:")) {
        std::string path(name.substr(5));
        if (path.starts_with("~/")) path.replace(0, 1, home(with));
        std::string text = read_file(path, largest_value);
        while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
        return text;
    }
    auto fallback = name.find(":-");
    std::string_view plain = name.substr(0, fallback);
    if (!is_name(plain)) throw config_error("unsupported variable ${" + std::string(name) + "}");
    if (fallback == std::string_view::npos) return of_environment(std::string(plain), with);
    auto value = with.environment(std::string(plain));
    return value && !value->empty() ? *value : std::string(name.substr(fallback + 2));
}

}  // namespace

std::string home(const variables& with) { return with.environment("HOME").value_or(""); }

std::string expand(std::string_view text, variables& with) {
    std::string out;
    while (true) {
        std::size_t begin = text.find("${");
        std::size_t end = begin == std::string_view::npos ? begin : text.find('}', begin);
        out += text.substr(0, end == std::string_view::npos ? end : begin);
        if (end == std::string_view::npos) return out;
        // The value is not expanded again: it may contain any text.
        out += value_of(text.substr(begin + 2, end - begin - 2), with);
        text.remove_prefix(end + 1);
    }
}

std::string read_file(const std::string& path, std::size_t max_size) {
    auto fail = [&](int why) { throw config_error("cannot read " + path + ": " + std::strerror(why)); };
    // Nonblocking: a named pipe must not stop the program.
    int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) fail(errno);
    struct closer {
        int fd;
        ~closer() { ::close(fd); }
    } guard{fd};
    struct stat about{};
    if (::fstat(fd, &about) != 0) fail(errno);
    if (S_ISDIR(about.st_mode)) fail(EISDIR);
    std::string text;
    while (true) {
        constexpr std::size_t chunk = 64 * 1024;
        std::size_t before = text.size();
        text.resize(before + chunk);
        ssize_t n = ::read(fd, text.data() + before, chunk);
        if (n < 0 && errno != EINTR) fail(errno);
        text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
        if (text.size() > max_size)
            throw config_error("cannot read " + path + ": larger than " + std::to_string(max_size) + " bytes");
        if (n == 0) return text;
    }
}

}  // namespace keel::config
