// Load generator for MCP servers on stdio. Starts the server with pipes, initializes the session, keeps a fixed number
// of `echo` calls in flight, checks every response, and prints the resources used by the server as one line of JSON.
//
// It must be cheap: requests are patched into a prebuilt text, responses are scanned only for the relevant bytes, and
// one read and one write serve all calls that are ready together.

#include "load_program.hpp"
#include "process_usage.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using bench::bind_to;
using bench::clock_type;
using bench::own_cpu_seconds;
using bench::seconds_since;

enum class era { legacy, modern, raw };

struct options {
    std::int64_t calls = 100'000;
    std::int64_t warm_up = 10'000;
    std::int64_t in_flight = 64;
    std::int64_t sample_every = 0;  // 0: do not sample memory
    unsigned deadline_seconds = 900;
    int server_cpu = -1;  // -1: not pinned
    int own_cpu = -1;
    era speaks = era::legacy;
    std::vector<char*> command;
};

constexpr std::string_view usage_text = R"(usage: stdio_load [options] -- COMMAND [ARGUMENT...]
  --era legacy|modern|raw  2025-06-18 with a handshake, 2026-07-28 with metadata in each request,
                           or lines that the server echoes unchanged
  --calls N                number of measured calls          (100000)
  --warm-up N              calls before the measurement      (10000)
  --in-flight N            pending calls                     (64)
  --sample-every K         also sample the server's resident memory every K calls
  --deadline SECONDS       timeout                           (900)
  --server-cpu N, --own-cpu N   bind server and load to a processor
)";

// ---- messages ----------------------------------------------------------------------------------------------------

// Ids have a constant width, so that a request is a copy of the template with nine digits changed in two places. The
// text has sixteen bytes and differs in each call.
constexpr std::int64_t first_id = 100'000'000;
constexpr std::size_t id_width = 9;
constexpr std::string_view text_prefix = "payload";
static_assert(text_prefix.size() + id_width == 16);

constexpr std::string_view modern_meta =
    R"(,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
    R"("io.modelcontextprotocol/clientInfo":{"name":"stdio_load","version":"1.0"},)"
    R"("io.modelcontextprotocol/clientCapabilities":{}})";

constexpr std::string_view initialize_line =
    R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},)"
    R"("clientInfo":{"name":"stdio_load","version":"1.0"}}})"
    "\n";
constexpr std::string_view initialized_line = R"({"jsonrpc":"2.0","method":"notifications/initialized"})"
                                              "\n";

void put_digits(char* to, std::int64_t value) {
    for (std::size_t i = id_width; i-- > 0;) {
        to[i] = static_cast<char>('0' + value % 10);
        value /= 10;
    }
}

class request_template {
public:
    explicit request_template(era speaks) {
        const std::string digits(id_width, '0');
        text_ = R"({"jsonrpc":"2.0","id":)";
        id_at_ = text_.size();
        text_ += digits + R"(,"method":"tools/call","params":{"name":"echo","arguments":{"text":")";
        text_ += text_prefix;
        text_at_ = text_.size();
        text_ += digits + "\"}";
        if (speaks == era::modern) text_ += modern_meta;
        text_ += "}}\n";
    }

    void append_to(std::string& out, std::int64_t id) const {
        const std::size_t start = out.size();
        out += text_;
        put_digits(out.data() + start + id_at_, id);
        put_digits(out.data() + start + text_at_, id);
    }

private:
    std::string text_;
    std::size_t id_at_ = 0;
    std::size_t text_at_ = 0;
};

std::string_view trimmed_front(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    return text;
}

/// The text after `"key":` in the line, or nothing. Sufficient as a parser, because our texts contain no quotes.
std::string_view after_key(std::string_view line, std::string_view quoted_key) {
    const void* found = memmem(line.data(), line.size(), quoted_key.data(), quoted_key.size());
    if (found == nullptr) return {};
    auto rest =
        line.substr(static_cast<std::size_t>(static_cast<const char*>(found) - line.data()) + quoted_key.size());
    rest = trimmed_front(rest);
    if (rest.empty() || rest.front() != ':') return {};
    return trimmed_front(rest.substr(1));
}

// ---- the server's process ---------------------------------------------------------------------------------------

class server_process {
public:
    explicit server_process(const options& wanted) {
        int to_server[2];
        int from_server[2];
        if (pipe2(to_server, O_CLOEXEC) != 0 || pipe2(from_server, O_CLOEXEC) != 0) {
            throw std::runtime_error("cannot create pipes");
        }
        started_ = clock_type::now();
        pid_ = fork();
        if (pid_ < 0) throw std::runtime_error("cannot fork");
        if (pid_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);  // do not leave the server behind if this process is killed
            bind_to(wanted.server_cpu);
            signal(SIGPIPE, SIG_DFL);
            dup2(to_server[0], STDIN_FILENO);
            dup2(from_server[1], STDOUT_FILENO);
            execvp(wanted.command[0], wanted.command.data());
            std::perror(wanted.command[0]);
            _exit(127);
        }
        close(to_server[0]);
        close(from_server[1]);
        write_end = to_server[1];
        read_end = from_server[0];
        // Only our own end becomes non-blocking: each end of a pipe has its own flags. A server that stops reading must
        // not prevent us from reading its responses.
        fcntl(write_end, F_SETFL, fcntl(write_end, F_GETFL) | O_NONBLOCK);
    }

    server_process(const server_process&) = delete;
    server_process& operator=(const server_process&) = delete;

    ~server_process() {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
    }

    pid_t pid() const { return pid_; }
    clock_type::time_point started() const { return started_; }

    /// Closes the input and waits for the exit. Returns the status in shell convention.
    int finish() {
        close(write_end);
        int status = 0;
        if (waitpid(pid_, &status, 0) < 0) {
            throw std::runtime_error("the server did not exit after the end of its input");
        }
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

    int write_end = -1;
    int read_end = -1;

private:
    pid_t pid_ = -1;
    clock_type::time_point started_;
};

// ---- the calls --------------------------------------------------------------------------------------------------

class load {
public:
    load(server_process& server, const options& wanted)
        : server_(server), wanted_(wanted), request_(wanted.speaks), input_(std::size_t{1} << 20) {}

    /// Initializes the session and makes one call; times are measured from before the fork.
    void open() {
        if (wanted_.speaks == era::legacy) {
            output_ = initialize_line;
            const auto line = next_line();
            first_answer_seconds = seconds_since(server_.started());
            if (after_key(line, "\"result\"").empty()) fail("initialize was refused", line);
            output_ = initialized_line;
        }
        run(1, 1);
        first_call_seconds = seconds_since(server_.started());
        if (wanted_.speaks != era::legacy) first_answer_seconds = first_call_seconds;
    }

    /// Makes `calls` calls with `in_flight` of them pending at any time. All are answered when this returns.
    void run(std::int64_t calls, std::int64_t in_flight) {
        const std::int64_t base = next_id_;
        answered_.assign(static_cast<std::size_t>(calls), false);
        std::int64_t sent = 0;
        std::int64_t done = 0;
        std::int64_t next_sample = wanted_.sample_every > 0 && sampling ? wanted_.sample_every : calls + 1;
        while (done < calls) {
            for (; sent < calls && sent - done < in_flight; ++sent) request_.append_to(output_, base + sent);
            done += take(base, next_line());
            // All responses of one read are processed before the next requests are written.
            for (std::string_view line; held_line(line);) done += take(base, line);
            if (done >= next_sample) {
                samples.emplace_back(done, bench::memory_of(server_.pid()).resident_kb);
                next_sample += wanted_.sample_every;
            }
        }
        next_id_ = base + calls;
    }

    double first_answer_seconds = 0;
    double first_call_seconds = 0;
    bool sampling = false;
    std::int64_t notifications = 0;
    std::vector<std::pair<std::int64_t, std::int64_t>> samples;

private:
    [[noreturn]] static void fail(const std::string& what, std::string_view line) {
        throw std::runtime_error(what + ": " + std::string(line.substr(0, 300)));
    }

    /// Checks one line. Returns 1 for a response to a call, 0 for a notification.
    std::int64_t take(std::int64_t base, std::string_view line) {
        const auto id_text = after_key(line, "\"id\"");
        if (id_text.empty()) {
            if (after_key(line, "\"method\"").empty()) fail("neither an answer nor a notification", line);
            ++notifications;
            return 0;
        }
        std::int64_t id = 0;
        std::size_t digits = 0;
        for (; digits < id_text.size() && id_text[digits] >= '0' && id_text[digits] <= '9'; ++digits) {
            id = id * 10 + (id_text[digits] - '0');
        }
        const auto slot = id - base;
        if (digits != id_width || slot < 0 || std::cmp_greater_equal(slot, answered_.size())) fail("unknown id", line);
        if (answered_[static_cast<std::size_t>(slot)]) fail("a second answer for the same id", line);
        answered_[static_cast<std::size_t>(slot)] = true;

        // "text" is also a value of "type", so search for the expected value; in the echoed request it stands alone.
        char expected[16 + 2];
        expected[0] = '"';
        std::copy(text_prefix.begin(), text_prefix.end(), expected + 1);
        put_digits(expected + 1 + text_prefix.size(), id);
        expected[17] = '"';
        if (memmem(line.data(), line.size(), expected, sizeof expected) == nullptr) fail("the text is missing", line);
        if (wanted_.speaks != era::raw &&
            (after_key(line, "\"result\"").empty() || after_key(line, "\"isError\"").starts_with("true"))) {
            fail("not a successful result", line);
        }
        return 1;
    }

    bool held_line(std::string_view& line) {
        const auto* start = input_.data() + begin_;
        const auto* found = static_cast<const char*>(std::memchr(start, '\n', end_ - begin_));
        if (found == nullptr) return false;
        line = {start, static_cast<std::size_t>(found - start)};
        begin_ += line.size() + 1;
        return true;
    }

    /// The next line, after writing pending requests. The view is valid until the next call.
    std::string_view next_line() {
        flush();
        std::string_view line;
        while (!held_line(line)) {
            std::memmove(input_.data(), input_.data() + begin_, end_ - begin_);
            end_ -= begin_;
            begin_ = 0;
            if (end_ == input_.size()) throw std::runtime_error("line longer than the buffer");
            if (!output_.empty()) wait_for_either();
            const auto got = ::read(server_.read_end, input_.data() + end_, input_.size() - end_);
            if (got == 0) throw std::runtime_error("the server closed its output");
            if (got < 0) throw std::runtime_error(errno == EINTR ? "timeout" : std::strerror(errno));
            end_ += static_cast<std::size_t>(got);
        }
        return line;
    }

    void flush() {
        while (!output_.empty()) {
            const auto written = ::write(server_.write_end, output_.data(), output_.size());
            if (written < 0) {
                if (errno == EAGAIN) return;
                throw std::runtime_error(errno == EPIPE ? "the server closed its input" : std::strerror(errno));
            }
            output_.erase(0, static_cast<std::size_t>(written));
        }
    }

    /// Returns when input is available; continues writing meanwhile.
    void wait_for_either() {
        for (;;) {
            pollfd both[2] = {{server_.read_end, POLLIN, 0}, {server_.write_end, POLLOUT, 0}};
            if (::poll(both, output_.empty() ? 1 : 2, -1) < 0) throw std::runtime_error("timeout");
            if (both[1].revents != 0) flush();
            if (both[0].revents != 0) return;
        }
    }

    server_process& server_;  // must outlive this object
    const options& wanted_;
    request_template request_;
    std::int64_t next_id_ = first_id;
    std::vector<bool> answered_;
    std::string output_;
    std::vector<char> input_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

// ---- the report -------------------------------------------------------------------------------------------------

void measure(const options& wanted) {
    server_process server(wanted);
    bind_to(wanted.own_cpu);
    load calls(server, wanted);
    calls.open();
    const auto idle = bench::memory_of(server.pid());
    if (wanted.warm_up > 0) calls.run(wanted.warm_up, wanted.in_flight);

    calls.sampling = true;
    const auto own_before = own_cpu_seconds();
    const auto before = bench::usage_of(server.pid());
    const auto start = clock_type::now();
    calls.run(wanted.calls, wanted.in_flight);
    const auto wall = seconds_since(start);
    const auto after = bench::usage_of(server.pid());
    const auto own = own_cpu_seconds() - own_before;
    const auto end = bench::memory_of(server.pid());

    const auto ending = clock_type::now();
    const int status = server.finish();
    const auto exit_seconds = seconds_since(ending);

    const auto count = static_cast<double>(wanted.calls);
    const auto per_call = [&](std::int64_t x) { return static_cast<double>(x) / count; };
    const auto cpu_seconds = static_cast<double>(after.cpu_ns - before.cpu_ns) / 1e9;
    std::printf(
        R"({"calls":%lld,"in_flight":%lld,"wall_s":%.6f,"calls_per_s":%.0f,"cpu_s":%.6f,"cpu_us_per_call":%.4f,)"
        R"("user_s":%.2f,"system_s":%.2f,"reads_per_call":%.4f,"writes_per_call":%.4f,"sleeps_per_call":%.4f,)"
        R"("own_cpu_us_per_call":%.4f,"first_answer_ms":%.3f,"first_call_ms":%.3f,"idle_rss_kb":%lld,)"
        R"("end_rss_kb":%lld,"peak_rss_kb":%lld,"notifications":%lld,"exit_ms":%.3f,"exit_status":%d)",
        static_cast<long long>(wanted.calls), static_cast<long long>(wanted.in_flight), wall, count / wall, cpu_seconds,
        cpu_seconds * 1e6 / count, after.user_seconds - before.user_seconds,
        after.system_seconds - before.system_seconds, per_call(after.reads - before.reads),
        per_call(after.writes - before.writes), per_call(after.sleeps - before.sleeps), own * 1e6 / count,
        calls.first_answer_seconds * 1e3, calls.first_call_seconds * 1e3, static_cast<long long>(idle.resident_kb),
        static_cast<long long>(end.resident_kb), static_cast<long long>(end.peak_kb),
        static_cast<long long>(calls.notifications), exit_seconds * 1e3, status);
    if (wanted.sample_every > 0) {
        std::printf(R"(,"rss_samples":[)");
        const char* separator = "";
        for (const auto& [at, resident] : calls.samples) {
            std::printf("%s[%lld,%lld]", separator, static_cast<long long>(at), static_cast<long long>(resident));
            separator = ",";
        }
        std::printf("]");
    }
    std::printf("}\n");
}

options parse(int argc, char** argv) {
    options out;
    int at = 1;
    for (; at < argc && std::string_view(argv[at]) != "--"; at += 2) {
        const std::string_view name = argv[at];
        if (at + 1 >= argc) throw std::invalid_argument("missing value of " + std::string(name));
        const std::string value = argv[at + 1];
        if (name == "--era") {
            if (value != "legacy" && value != "modern" && value != "raw") throw std::invalid_argument("unknown era");
            out.speaks = value == "legacy" ? era::legacy : value == "modern" ? era::modern : era::raw;
        } else if (name == "--calls") {
            out.calls = std::stoll(value);
        } else if (name == "--warm-up") {
            out.warm_up = std::stoll(value);
        } else if (name == "--in-flight") {
            out.in_flight = std::stoll(value);
        } else if (name == "--sample-every") {
            out.sample_every = std::stoll(value);
        } else if (name == "--deadline") {
            out.deadline_seconds = static_cast<unsigned>(std::stoul(value));
        } else if (name == "--server-cpu") {
            out.server_cpu = std::stoi(value);
        } else if (name == "--own-cpu") {
            out.own_cpu = std::stoi(value);
        } else {
            throw std::invalid_argument("unknown option " + std::string(name));
        }
    }
    for (++at; at < argc; ++at) out.command.push_back(argv[at]);
    if (out.command.empty()) throw std::invalid_argument("missing command");
    if (out.calls < 1 || out.in_flight < 1 || out.calls + out.warm_up > 800'000'000) {
        throw std::invalid_argument("calls and in-flight must be at least 1, and all calls at most 800 million");
    }
    out.command.push_back(nullptr);
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    signal(SIGPIPE, SIG_IGN);
    return bench::run_program("stdio_load", usage_text, parse, measure, argc, argv);
}
