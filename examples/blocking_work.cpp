// self-test
// Blocking work in coroutines: a tool that asks the user and then blocks, and one that does two blocking things at the same time.
// keel::on_worker runs a function on a worker thread while the coroutine waits.

#include <keel/client.hpp>
#include <keel/run.hpp>
#include <keel/server.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <stop_token>
#include <string>

namespace json = keel::json;

struct file_args {
    std::string path;
};
KEEL_DESCRIBE(file_args, path)

struct approval {
    bool yes = false;
};
KEEL_DESCRIBE(approval, (yes, "Delete it?"))

std::string read_file(const std::string& path) {
    std::ifstream in(path);
    if (!in) throw keel::tool_failure("cannot read " + path);
    return {std::istreambuf_iterator<char>(in), {}};
}

// Asks the user first, without occupying a thread, then deletes the file on a worker thread.
keel::task<std::string> remove_file(keel::context& ctx, file_args in) {
    keel::elicited<approval> answer = co_await ctx.elicit<approval>("sure", "Delete " + in.path + "?");
    if (!answer || !answer->yes) co_return "not deleted";
    auto remove = [&in] { return std::filesystem::remove(in.path); };
    bool removed = co_await keel::on_worker(remove);
    co_return removed ? "deleted" : "there is no such file";
}

// A long computation checks its stop token: Keel cannot interrupt a running function.
keel::task<int> count_lines(file_args in) {
    auto count = [&in](std::stop_token stop) {
        int lines = 0;
        for (char c : read_file(in.path)) {
            if (stop.stop_requested()) break;  // cancelled: the result is discarded
            if (c == '\n') ++lines;
        }
        return lines;
    };
    co_return co_await keel::on_worker(count);
}

struct pair_args {
    std::string left;
    std::string right;
};
KEEL_DESCRIBE(pair_args, left, right)

// Reads both files at the same time. If one cannot be read, the other read is cancelled, and the tool fails.
keel::task<std::string> compare(pair_args in) {
    auto read_left = [&in] { return read_file(in.left); };
    auto read_right = [&in] { return read_file(in.right); };
    auto [left, right] = co_await keel::when_all(keel::on_worker(read_left), keel::on_worker(read_right));
    co_return left == right ? "equal" : "different";
}

// The same without the cancellation: reports for each file whether it can be read.
keel::task<std::string> check(pair_args in) {
    auto read_left = [&in] { return read_file(in.left); };
    auto read_right = [&in] { return read_file(in.right); };
    auto [left, right] = co_await keel::when_all_settled(keel::on_worker(read_left), keel::on_worker(read_right));
    co_return std::string(left ? "readable" : "unreadable") + ", " + (right ? "readable" : "unreadable");
}

// ---- a client that calls them ----

void expect(bool right, const char* what) {
    if (!right) throw std::runtime_error(std::string("unexpected: ") + what);
}

keel::task<void> try_all(keel::client& client, std::string path) {
    co_await client.connect();
    file_args file{.path = path};
    int lines = co_await client.call_tool<int>("count_lines", file);
    expect(lines == 2, "the number of lines");
    pair_args twice{.left = path, .right = path};
    keel::tool_result same = co_await client.call_tool("compare", twice);
    expect(same.text() == "equal", "the comparison");
    pair_args broken{.left = path, .right = path + ".missing"};
    keel::tool_result failed = co_await client.call_tool("compare", broken);
    expect(failed.is_error, "the failed comparison");
    keel::tool_result checked = co_await client.call_tool("check", broken);
    expect(checked.text() == "readable, unreadable", "the check");
    keel::tool_result removed = co_await client.call_tool("remove_file", file);
    expect(removed.text() == "deleted", "the deletion");
    co_await client.close();
}

int main() {
    keel::server server({.name = "files", .version = "1.0.0"});
    server.add_tool("remove_file", "Deletes a file, after asking the user", &remove_file);
    server.add_tool("count_lines", "Counts the lines of a file", &count_lines);
    server.add_tool("compare", "Compares two files", &compare);
    server.add_tool("check", "Checks whether two files can be read", &check);

    std::string path = (std::filesystem::temp_directory_path() / "keel-blocking-work-XXXXXX").string();
    int fd = mkstemp(path.data());
    std::ofstream(path) << "one\ntwo\n";
    keel::client_options options;
    options.about = {.name = "tester", .version = "1.0.0"};
    options.on_form = [](const keel::form_question&) { return keel::form_answer(json::object("yes", true)); };
    keel::client client(server, options);
    try {
        keel::run(try_all(client, path));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "blocking_work: %s\n", e.what());
        return 1;
    }
    return fd >= 0 && !std::filesystem::exists(path) ? 0 : 1;
}
