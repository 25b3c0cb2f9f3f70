#include <keel/log.hpp>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace keel::test {

namespace {

class folder {
public:
    folder() {
        std::string name = (std::filesystem::temp_directory_path() / "keel-log-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()));
        path_ = name;
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    ~folder() { std::filesystem::remove_all(path_); }
    std::string operator/(const char* name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

std::string text_of(const std::string& path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
}

struct pipe_ends {
    int read = -1;
    int write = -1;
    pipe_ends() {
        std::array<int, 2> both{};
        REQUIRE(::pipe2(both.data(), O_CLOEXEC) == 0);
        read = both[0];
        write = both[1];
    }
    pipe_ends(const pipe_ends&) = delete;
    pipe_ends& operator=(const pipe_ends&) = delete;
    ~pipe_ends() {
        if (read >= 0) ::close(read);
        ::close(write);
    }
};

/// Everything that can be read now.
std::string drain(int fd) {
    std::string out;
    std::array<char, 65536> some{};
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
    for (ssize_t n = 0; (n = ::read(fd, some.data(), some.size())) > 0;)
        out.append(some.data(), static_cast<std::size_t>(n));
    return out;
}

}  // namespace

TEST_CASE("a log file is appended to, and reopened after a rotation") {
    folder at;
    const std::string path = at / "x.log";
    std::ofstream(path) << "before\n";
    log_file file(path);
    CHECK(file.write_line("one"));
    std::filesystem::rename(path, at / "x.log.1");
    CHECK(file.write_line("two"));
    file.reopen();
    CHECK(file.write_line("three"));
    CHECK(text_of(at / "x.log.1") == "before\none\ntwo\n");
    CHECK(text_of(path) == "three\n");
    CHECK(file.dropped() == 0);
}

TEST_CASE("if a log file cannot be reopened, the old one stays in use") {
    folder at;
    std::filesystem::create_directory(at / "logs");
    const std::string path = at / "logs/x.log";
    log_file file(path);
    std::filesystem::rename(at / "logs", at / "old");
    CHECK_THROWS_WITH_AS(file.reopen(), ("cannot open the log file " + path + ": No such file or directory").c_str(),
                         std::system_error);
    CHECK(file.write_line("still here"));
    CHECK(text_of(at / "old/x.log") == "still here\n");
}

TEST_CASE("lines that do not fit into a pipe are dropped and counted, without blocking; later lines say how many") {
    pipe_ends ends;
    auto file = std::make_shared<log_file>(ends.write);
    log_sink log = log_to(file, {.least = log_level::info});
    const std::string long_text(1500, 'x');
    std::size_t written = 0;
    for (; file->dropped() < 3; ++written) log(log_level::info, long_text);
    written -= 3;
    CHECK(written > 0);
    const std::string before = drain(ends.read);
    CHECK(static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) == written);
    log(log_level::info, "after");
    const std::string after = drain(ends.read);
    CHECK(after.find("info after\n") != std::string::npos);
    CHECK(after.find("warning 3 lines of this log were dropped") != std::string::npos);
    log(log_level::info, "again");
    CHECK(drain(ends.read).find("dropped") == std::string::npos);
}

TEST_CASE("a pipe that nobody reads any more drops lines and does not end the process") {
    pipe_ends ends;
    log_file file(ends.write);
    ::close(std::exchange(ends.read, -1));
    CHECK_FALSE(file.write_line("lost"));
    CHECK(file.dropped() == 1);
}

TEST_CASE("a full socket drops lines without blocking") {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
    {
        log_file file(ends[0]);
        while (file.dropped() == 0) file.write_line(std::string(1000, 'x'));
        drain(ends[1]);
        CHECK(file.write_line("fits again"));
    }
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_CASE("a line that was cut by a full disk does not run into the next one") {
    folder at;
    const std::string path = at / "x.log";
    log_file file(path);
    // The limit on the size of files stands for the full disk.
    struct rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    const auto old = std::signal(SIGXFSZ, SIG_IGN);
    struct rlimit small = before;
    small.rlim_cur = 10;
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    const bool first = file.write_line("0123456789abc");
    const bool second = file.write_line("lost");
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, old);
    CHECK_FALSE(first);
    CHECK_FALSE(second);
    CHECK(file.dropped() == 2);
    CHECK(file.write_line("next"));
    CHECK(text_of(path) == "0123456789\nnext\n");
}

TEST_CASE("lines of several threads are not mixed, also while the file is reopened") {
    folder at;
    const std::string path = at / "x.log";
    log_file file(path);
    std::vector<std::thread> writers;
    for (char c : {'a', 'b', 'c'}) {
        writers.emplace_back([&file, c] {
            for (int i = 0; i < 200; ++i) file.write_line(std::string(100, c));
        });
    }
    for (int i = 0; i < 20; ++i) file.reopen();
    for (std::thread& each : writers) each.join();
    std::ifstream in(path);
    std::size_t count = 0;
    for (std::string line; std::getline(in, line); ++count) CHECK(line == std::string(100, line[0]));
    CHECK(count == 600);
}

}  // namespace keel::test
