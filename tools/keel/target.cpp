#include "target.hpp"

#include "exit_status.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <sys/stat.h>
#include <sys/un.h>

namespace keel::command {

namespace {

// Check it here: the system reports a missing directory and a missing program with the same error.
void check_directory(const std::string& path) {
    struct stat s{};
    if (::stat(path.c_str(), &s) != 0) throw usage_error("--cwd: " + path + ": " + std::strerror(errno));
    if (!S_ISDIR(s.st_mode)) throw usage_error("--cwd: " + path + " is not a directory");
}

// Checked even if no certificate is used (http), and reported as a usage error, not as a server error.
void check_certificates(const std::string& path) {
    struct stat s{};
    std::ifstream in(path, std::ios::binary);
    if (!in || ::stat(path.c_str(), &s) != 0) throw usage_error("--ca-file: " + path + ": " + std::strerror(errno));
    if (S_ISDIR(s.st_mode)) throw usage_error("--ca-file: " + path + " is a directory");
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (text.find("-----BEGIN ") == std::string::npos)
        throw usage_error("--ca-file: " + path + " contains no certificate");
}

// The library checks it too, but only when it connects.
void check_socket_path(const std::string& path) {
    constexpr std::size_t longest = sizeof(sockaddr_un::sun_path) - 1;
    if (path.size() > longest) {
        throw usage_error("--unix: the path is longer than " + std::to_string(longest) + " bytes: " + path);
    }
}

server_target web_target(const options& o) {
    if (!o.ca_file.empty()) check_certificates(o.ca_file);
    url where;
    where.address = o.url;
    where.headers = o.headers;
    where.ca_file = o.ca_file;
    if (o.max_message) where.max_body = *o.max_message;
    return where;
}

}  // namespace

server_target target_of(const options& o) {
    // The library's message has the invalid address, but not the option.
    auto of_option = [](const char* name, auto make) -> server_target {
        try {
            return make();
        } catch (const std::invalid_argument& e) {
            std::string_view why = e.what();
            constexpr std::string_view library = "keel: ";
            if (why.starts_with(library)) why.remove_prefix(library.size());
            throw usage_error(std::string(name) + ": " + std::string(why));
        }
    };
    if (!o.url.empty()) return web_target(o);
    if (!o.unix_path.empty()) {
        check_socket_path(o.unix_path);
        return unix_socket{o.unix_path};
    }
    if (!o.tcp.empty()) return of_option("--tcp", [&] { return server_target(tcp{o.tcp}); });
    if (!o.directory.empty()) check_directory(o.directory);
    child_process child;
    child.command = o.child[0];
    child.arguments.assign(o.child.begin() + 1, o.child.end());
    child.environment = o.environment;
    child.directory = o.directory;
    child.inherit_environment = o.inherit_environment;
    return child;
}

}  // namespace keel::command
