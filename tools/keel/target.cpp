#include "target.hpp"

#include "exit_status.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include <sys/stat.h>

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
    if (!o.url.empty()) return web_target(o);
    if (!o.unix_path.empty()) return unix_socket{o.unix_path};
    if (!o.tcp.empty()) return tcp{o.tcp};
    if (!o.directory.empty()) check_directory(o.directory);
    child_process child;
    child.command = o.child[0];
    child.arguments.assign(o.child.begin() + 1, o.child.end());
    child.environment = o.environment;
    child.directory = o.directory;
    return child;
}

}  // namespace keel::command
